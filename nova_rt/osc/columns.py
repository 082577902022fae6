# SPDX-License-Identifier: Apache-2.0
"""How values are shown: for people in a table, for programs in JSON and YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cliff import columns

from nova_rt import bandwidth
from nova_rt import bars
from nova_rt import ledger


class Share(columns.FormattableColumn[Any]):
    """A bandwidth or share: percent of a CPU for people, CPUs for programs."""

    def human_readable(self) -> str:
        """Return it in percent."""
        return bandwidth.percent(self._value)

    def machine_readable(self) -> float:
        """Return it in CPUs."""
        return bandwidth.cpus(self._value)


class PCPUs(columns.FormattableColumn[Sequence[int]]):
    """Numbers of pCPUs."""

    def human_readable(self) -> str:
        """Return numbers and ranges."""
        return ledger.ranges(self._value)


class Moves(columns.FormattableColumn[Any]):
    """Moves of vCPUs in their order: a line each for people, bandwidths in CPUs for programs."""

    def human_readable(self) -> str:
        """Return a line for each move."""
        return '\n'.join(f'{number}. {move_in_words(move)}'
                         for number, move in enumerate(self._value, 1))

    def machine_readable(self) -> list[dict[str, Any]]:
        """Return which server goes from which pCPU to which."""
        return [{**move, 'bandwidth': bandwidth.cpus(move['bandwidth'])}
                for move in self._value]


def move_in_words(move: dict[str, Any]) -> str:
    """Return a move of a vCPU as people read it."""
    return (f'{move["name"] or move["server"]} {bandwidth.percent(move["bandwidth"])}: '
            f'pCPU {move["source"]} to {move["target"]}')


class Steps(columns.FormattableColumn[Any]):
    """Moves and migrations in their order: a line each, or all that is known of them."""

    def human_readable(self) -> str:
        """Return a line for each step."""
        return '\n'.join(f'{number}. {step_in_words(step)}'
                         for number, step in enumerate(self._value, 1))

    def machine_readable(self) -> list[dict[str, Any]]:
        """Return each step, with its bandwidth in CPUs."""
        return [{**step, 'bandwidth': bandwidth.cpus(step['bandwidth'])}
                for step in self._value]


def step_in_words(step: dict[str, Any]) -> str:
    """Return a move or a migration as people read it."""
    if step['step'] == 'move':
        return f'{step["host"]}: {move_in_words(step)}'
    return (f'{step["name"] or step["server"]} {bandwidth.percent(step["bandwidth"])}, '
            f'{step["memory_mb"]} MiB: {step["host"]} to {step["target_host"]}')


class LeftOnHosts(columns.FormattableColumn[Any]):
    """What steps leave on each pCPU of several hosts."""

    def human_readable(self) -> str:
        """Return a line for each host and each of its pCPUs."""
        return '\n'.join(f'{host["host"]}\n{Left(host["pcpus"]).human_readable()}'
                         for host in self._value)

    def machine_readable(self) -> list[dict[str, Any]]:
        """Return each host, and what its pCPUs have left before and after."""
        return [{**host, 'pcpus': Left(host['pcpus']).machine_readable()}
                for host in self._value]


class Left(columns.FormattableColumn[Any]):
    """What moves leave on each pCPU: percent of a CPU for people, CPUs for programs."""

    def human_readable(self) -> str:
        """Return a line for each pCPU."""
        return '\n'.join(
            f'pCPU {pcpu["pcpu"]:<3} left {bandwidth.percent(pcpu["left_before"]):>6}, '
            f'then {bandwidth.percent(pcpu["left_after"]):>6}' for pcpu in self._value)

    def machine_readable(self) -> list[dict[str, Any]]:
        """Return what each pCPU offers, and has left before and after the moves."""
        return [{'pcpu': pcpu['pcpu'], **{
            name: bandwidth.cpus(pcpu[name])
            for name in ('capacity', 'left_before', 'left_after')}} for pcpu in self._value]


class Bars(columns.FormattableColumn[Any]):
    """A host's pCPUs: a bar each for people, numbers in CPUs for programs."""

    def human_readable(self) -> str:
        """Return a drawing, a line for each pCPU."""
        return '\n'.join(bars.bar(
            pcpu['pcpu'], pcpu['capacity'], pcpu['left'],
            [(each['name'] or each['server'], each['reservation']['bandwidth'])
             for each in self._value['holdings'] if pcpu['pcpu'] in each['pcpus']])
            for pcpu in self._value['pcpus'])

    def machine_readable(self) -> list[dict[str, Any]]:
        """Return what each pCPU offers and who holds how much of it."""
        return [{
            'pcpu': pcpu['pcpu'], 'capacity': bandwidth.cpus(pcpu['capacity']),
            'used': bandwidth.cpus(pcpu['used']), 'left': bandwidth.cpus(pcpu['left']),
            'servers': {
                each['server']: bandwidth.cpus(each['reservation']['bandwidth'])
                for each in self._value['holdings'] if pcpu['pcpu'] in each['pcpus']},
        } for pcpu in self._value['pcpus']]
