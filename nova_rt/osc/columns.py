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
