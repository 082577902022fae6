# SPDX-License-Identifier: Apache-2.0
"""The action that moves a vCPU to another pCPU of its host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watcher.applier.actions import base

from watcher_rt import api
from watcher_rt import order

NAME = 'nova_rt_move'

_TEXT = {'type': 'string', 'minLength': 1}
_PCPU = {'type': 'integer', 'minimum': 0}


class Move(base.BaseAction):
    """Moves a vCPU, all or nothing: nova-rt-compute does it.

    While it does, the server has its bandwidth on both pCPUs; whatever ends Watcher, the
    vCPU is on one of them.
    """

    def __init__(self, config: Any, osc: Any = None) -> None:
        super().__init__(config, osc)
        self._api: api.Client | None = None
        self._made = False

    @property
    def schema(self) -> Mapping[str, object]:
        """What a move has to say; ``resource_id`` is the server's uuid."""
        return {
            'type': 'object',
            'properties': {
                'resource_id': _TEXT, 'resource_name': {'type': 'string'}, 'host': _TEXT,
                'source': _PCPU, 'target': _PCPU, 'step': _PCPU, **order.PROPERTY},
            'required': ['resource_id', 'host', 'source', 'target'],
            'additionalProperties': False}

    def get_description(self) -> str:
        """Return what it does."""
        return ('Moving a vCPU of a server with a CPU reservation from one pCPU of its host, '
                'source, to another, target; all or nothing')

    def pre_condition(self) -> None:
        """See that the step before was made, and that the vCPU is where the plan has it.

        :raises ActionSkipped: if the step before was not made
        :raises RefusedError: if the server is not as planned; were it skipped, the plan
            would count as carried out
        """
        order.check(self.input_parameters)
        found = self._pcpus()
        source, target = self._inputs('source', 'target')
        if not found:
            raise api.RefusedError(
                f'Server {self.resource_id} holds nothing on {self._inputs("host")[0]} any more.')
        if source not in found or target in found:
            raise api.RefusedError(
                f'Server {self.resource_id} is not as planned: it is on pCPUs '
                f'{", ".join(map(str, sorted(found)))}.')

    def execute(self) -> bool:
        """Make the move.

        :raises RefusedError: if nova-rt does not make it
        :raises UndecidedError: if whether it was made is not known
        """
        try:
            self._move(*self._inputs('source', 'target'))
        except api.UndecidedError:
            self._made = True
            raise
        self._made = True
        return True

    def post_condition(self) -> None:
        """Do nothing: the answer to the move has the host as it is then."""

    def revert(self) -> None:
        """Move the vCPU back, if this has moved it, or may have."""
        if self._made and self._is_there():
            self._move(*self._inputs('target', 'source'))

    def abort(self) -> bool:
        """Return whether the vCPU has not gone: a move that has begun cannot be stopped."""
        return not self._is_there()

    def _move(self, source: int, target: int) -> None:
        host, server = self._inputs('host', 'resource_id')
        try:
            with api.asking():
                self._rt.move_vcpu(host, server, source, target)
        except api.UndecidedError as exc:
            raise api.UndecidedError(
                f'Whether the vCPU was moved is not known: start another audit. {exc}') from None

    def _is_there(self) -> bool:
        source, target = self._inputs('source', 'target')
        found = self._pcpus()
        return target in found and source not in found

    def _pcpus(self) -> set[int]:
        """Return the pCPUs that the server holds on the host."""
        host, server = self._inputs('host', 'resource_id')
        with api.asking():
            holdings = self._rt.get_host(host).holdings
        return {pcpu for each in holdings if each['server'] == server for pcpu in each['pcpus']}

    def _inputs(self, *names: str) -> list[Any]:
        return [self.input_parameters[name] for name in names]

    @property
    def _rt(self) -> Any:
        if self._api is None:
            self._api = api.Client()
        return self._api.rt
