# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the kernel that sees who could be late for what is given to others."""

from __future__ import annotations

import time

from nova_rt import bandwidth
from nova_rt.testing import fake_kernel


class ZeroLagKernel(fake_kernel.FakeKernel):
    """Notes each write after which a pCPU could not serve all containers in time.

    A container that has less than before may have used what it had, until its period has
    passed: until then that counts as taken (the zero-lag time).

    :param cap: the most that containers may have of a pCPU, in fixed point
    :ivar overcommits: a sentence for each such write
    """

    def __init__(self, count: int, cap: int) -> None:
        super().__init__(count, multi=True)
        self.overcommits: list[str] = []
        self._cap = cap
        # By container and pCPU, what it had, and until when it may still use that.
        self._until: dict[tuple[str, int], list[tuple[int, float]]] = {}

    def write(self, group: str, name: str, text: str) -> None:
        before = self.bandwidths(group)
        super().write(group, name, text)
        if '/' in group:
            self._look_at(group, before, self.bandwidths(group))

    def forget_uses(self) -> None:
        """Let all be as after a period: reservations that change are none of loans' business."""
        self._until.clear()

    def _look_at(self, changed: str, before: list[int], after: list[int]) -> None:
        now_s = time.monotonic()
        for pcpu, (had, has) in enumerate(zip(before, after, strict=True)):
            if has < had:
                period_us = self._groups[changed].period_us
                self._until.setdefault((changed, pcpu), []).append(
                    (had, now_s + period_us / 1e6))
            elif has > had and (taken := self._taken(pcpu, now_s)) > self._cap:
                self.overcommits.append(
                    f'/{changed} got {bandwidth.percent(has)} of pCPU {pcpu}, where it had '
                    f'{bandwidth.percent(had)}: {bandwidth.percent(taken)} is taken there')

    def _taken(self, pcpu: int, now_s: float) -> int:
        taken = 0
        for group in self.children('machine'):
            used = self._until.get((group, pcpu), [])
            used[:] = [(had, until_s) for had, until_s in used if now_s < until_s]
            taken += max([self.bandwidths(group)[pcpu], *(had for had, _ in used)])
        return taken
