# SPDX-License-Identifier: Apache-2.0
"""The largest response times of task sets in virtual machines."""

from collections.abc import Sequence
from typing import Any

from experiments import machines
from experiments import output
from experiments.machine_trials import Outcome
from nova_rt.model.plots import style

TITLES = {(1, 0): 'one vCPU', (1, 1): 'beside another guest', (2, 0): 'two vCPUs'}
LABELS = {'analysed': 'as analysed', 'utilisation': 'their utilisation',
          'third': 'a third of it'}


def draw(folder: output.Folder, outcomes: Sequence[Outcome]) -> None:
    """Draw what each valid run's latest job was, by set and reservation."""
    with style.look():
        folder.picture(machines.name(), _figure([each for each in outcomes if not each.void]))


def _figure(valid: Sequence[Outcome]) -> Any:
    groups = {key: found for key in TITLES if (found := [
        each for each in valid if (len(each.load.case.vcpus), each.beside) == key])}
    drawn, axes = style.canvas(1, max(1, len(groups)), 10, 4.2, sharey=True)
    for axis, (key, outcomes) in zip(
            axes if len(groups) > 1 else [axes], groups.items(), strict=False):
        for number, level in enumerate(machines.LEVELS):
            chosen = [each for each in outcomes if each.load.held == level]
            axis.plot([_utilisation(each) for each in chosen],
                      [each.jobs.worst for each in chosen], ls='',
                      marker='osv'[number], color=style.colour((0, 4, 1)[number]),
                      label=LABELS[level])
        analysed = [each for each in outcomes if each.load.held == 'analysed']
        axis.plot([_utilisation(each) for each in analysed],
                  [_bound(each) for each in analysed], ls='', marker='_', ms=12,
                  color=style.colour(0), label='bound of the analysis')
        axis.axhline(1, color=style.INK, lw=1, ls=(0, (4, 3)))
        axis.set(yscale='log', xlabel='utilisation', title=TITLES[key])
    first = axes[0] if len(groups) > 1 else axes
    first.set_ylabel('largest response time / period')
    first.legend(loc='best', fontsize=9)
    return drawn


def _utilisation(outcome: Outcome) -> float:
    case = outcome.load.case
    return float(sum(map(case.utilisation, case.vcpus)))


def _bound(outcome: Outcome) -> float:
    case = outcome.load.case
    return max(bound / task.period_us for bound, task in zip(
        case.bounds_us, case.tasks, strict=True))
