# SPDX-License-Identifier: Apache-2.0
"""Watcher, as an operator uses it: audits, action plans, actions."""

from collections.abc import Iterator
import contextlib
from typing import Any

from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack import services

OVER = ('SUCCEEDED', 'FAILED', 'CANCELLED', 'SUSPENDED')
APPLIER = 'watcher-applier'


@contextlib.contextmanager
def running(stack: stack_cloud.Cloud) -> Iterator['Watcher']:
    """Start Watcher beside a stack that has none, as ``up --with optimizer`` does."""
    parts = [part(stack.site) for part in services.MORE['optimizer']]
    if 'optimizer' in stack.site.more:
        yield Watcher(stack)
        return
    for part in parts:
        part.prepare()
        part.start()
    try:
        yield Watcher(stack)
    finally:
        stack.site.processes.stop([part.name for part in parts])


class Watcher:
    """The API of Watcher, for the administrator."""

    def __init__(self, stack: stack_cloud.Cloud) -> None:
        # A connection of its own: an older one's catalogue has no Watcher.
        self._stack = stack
        self._session = driver.connect(stack.environment('admin')).session
        self._url = stack.site.url('watcher-api', '/v1')

    def audit(self, **parameters: object) -> dict[str, Any]:
        """Have an audit carried out; return it at its end."""
        answer = self.ask_audit(**parameters)
        assert answer.status_code == 201, answer.text
        return self.audited(answer.json()['uuid'])

    def audited(self, uuid: str) -> dict[str, Any]:
        """Wait until an audit is over; return it then."""
        return self._at_end(lambda: self.get(f'/audits/{uuid}'))

    def ask_audit(self, **parameters: object) -> Any:
        """Ask for an audit; return the answer."""
        return self._session.post(
            f'{self._url}/audits/', raise_exc=False, headers=_VERSION, json={
                'audit_type': 'ONESHOT', 'goal': 'nova_rt_room',
                'strategy': self.get('/strategies/nova_rt_moves')['uuid'],
                'parameters': parameters})

    def plan(self, **parameters: object) -> dict[str, Any]:
        """Return the action plan of an audit that succeeds."""
        audit = self.audit(**parameters)
        assert audit['state'] == 'SUCCEEDED', audit
        listed, = self.get(f'/action_plans/?audit_uuid={audit["uuid"]}')['action_plans']
        return self.get(f'/action_plans/{listed["uuid"]}')

    def actions(self, plan: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the actions of a plan, in their order."""
        listed = self.get(f'/actions/detail?action_plan_uuid={plan["uuid"]}')['actions']
        return sorted(listed, key=lambda action: action['input_parameters']['step'])

    def start(self, plan: dict[str, Any]) -> None:
        """Have a plan carried out."""
        answer = self._session.post(
            f'{self._url}/action_plans/{plan["uuid"]}/start', json={}, headers=_VERSION)
        assert answer.ok, answer.text

    def carry_out(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Have a plan carried out; return it at its end."""
        self.start(plan)
        return self.ended(plan)

    def ended(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Wait until a plan is over; return it then."""
        return self._at_end(lambda: self.get(f'/action_plans/{plan["uuid"]}'))

    def kill_applier(self) -> None:
        """Kill the part that carries out plans, and what it started."""
        self._stack.site.processes.stop([APPLIER], grace=0)

    def start_applier(self) -> None:
        """Start that part again."""
        part, = (part for part in services.MORE['optimizer'] if part.name == APPLIER)
        part(self._stack.site).start()

    def get(self, path: str) -> dict[str, Any]:
        """Return what the API answers."""
        return dict(self._session.get(f'{self._url}{path}', headers=_VERSION).json())

    def _at_end(self, look: Any) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            seen: dict[str, Any] = look()
            return seen if seen['state'] in OVER else None
        ended: dict[str, Any] = driver.until(found, 'Watcher has done it', pause=0.3)
        return ended


# The newest tells why something failed.
_VERSION = {'OpenStack-API-Version': 'infra-optim latest'}
