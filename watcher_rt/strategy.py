# SPDX-License-Identifier: Apache-2.0
"""The strategy: the plans of nova-rt's API, as actions of Watcher's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watcher.decision_engine.strategy.strategies import base
from watcher.objects import audit as audits

from nova_rt import wording
from watcher_rt import api
from watcher_rt import goal
from watcher_rt import migrate
from watcher_rt import move
from watcher_rt import parameters
from watcher_rt import planner
from watcher_rt import plans

NAME = 'nova_rt_moves'

_CONTINUOUS = audits.AuditType.CONTINUOUS.value


class Moves(base.BaseStrategy):
    """Plans moves of vCPUs, and live migrations if they are allowed, that make room.

    nova-rt's API plans, as for ``openstack rt defrag plan``. With a flavor, the cheapest
    moves that let one of its servers in; without, those that balance hosts. Watcher's own
    model of the cloud is not asked: it knows nothing of pCPUs.
    """

    def __init__(self, config: Any, osc: Any = None) -> None:
        super().__init__(config, osc)
        self.planner = planner.NAME

    @classmethod
    def get_name(cls) -> str:
        """Return the name of the entry point."""
        return NAME

    @classmethod
    def get_display_name(cls) -> str:
        """Return the name for people."""
        return cls.get_translatable_display_name()

    @classmethod
    def get_translatable_display_name(cls) -> str:
        """Return the name for people."""
        return 'Moves between the pCPUs of hosts, and between hosts'

    @classmethod
    def get_goal_name(cls) -> str:
        """Return the goal that it reaches."""
        return goal.NAME

    @classmethod
    def get_config_opts(cls) -> list[Any]:
        """Return no options: it asks no source of metrics."""
        return []

    @classmethod
    def get_schema(cls) -> Mapping[str, object]:
        """Return what an audit may say."""
        return parameters.SCHEMA

    def pre_execute(self) -> None:
        """Do nothing: what there is, the API knows."""

    def do_execute(self, audit: Any = None) -> None:
        """Have a plan made, and note its steps.

        :raises RefusedError: if there is none; the audit says why
        :raises UndecidedError: if the API does not answer
        """
        try:
            asked = self._checked()
            plan = self._planned(asked, audit)
        except (api.RefusedError, api.UndecidedError) as exc:
            # Watcher itself says why in its log only.
            _tell(audit, str(exc))
            raise
        self._note(plan)
        _tell(audit, plan.proof)

    def post_execute(self) -> None:
        """Do nothing."""

    def _checked(self) -> parameters.Asked:
        if self.audit_scope:
            raise api.RefusedError(
                'This strategy takes no scope: name one host by the parameter host, or none.')
        return parameters.checked(self.input_parameters)

    def _planned(self, asked: parameters.Asked, audit: Any) -> plans.Plan:
        """Return a plan; one of no steps if a continuous audit has to come back later.

        Watcher ends a continuous audit that fails.
        """
        plan = plans.for_flavor if 'flavor' in asked else plans.for_balance
        try:
            with api.asking():
                return plan(api.Client().rt, asked)
        except (api.RefusedError, api.UndecidedError) as exc:
            if audit is None or audit.audit_type != _CONTINUOUS:
                raise
            return plans.Plan(proof=str(exc))

    def _note(self, plan: plans.Plan) -> None:
        for number, step in enumerate(plan.steps, 1):
            kind, inputs = _action(step)
            self.solution.add_action(
                kind, {**inputs, 'resource_name': step['name'], 'step': number}, step['server'])
        if plan.room is not None:
            migrations = sum(step['step'] == 'migration' for step in plan.steps)
            self.solution.set_efficacy_indicators(
                moves=len(plan.steps) - migrations, migrations=migrations,
                room_before=plan.room[0], room_after=plan.room[1])


def _tell(audit: Any, sentence: str) -> None:
    """Have an audit say how it went."""
    if audit is not None:
        audit.status_message = wording.shortened(sentence, api.LONGEST)
        audit.save()


def _action(step: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the type and the parameters of the action that makes a step."""
    if step['step'] == 'move':
        return move.NAME, {name: step[name] for name in ('host', 'source', 'target')}
    return migrate.NAME, {'migration_type': 'live', 'source_node': step['host'],
                          'destination_node': step['target_host']}
