# SPDX-License-Identifier: Apache-2.0
"""Plans moves and live migrations that make room for a reservation on one of several hosts.

First what the quick search finds. Then CP-SAT's cheapest assignment, which no plan is
below: if that can be carried out, or costs what was found, there is no cheaper plan.
"""

from collections.abc import Mapping
import dataclasses
import time

from nova_rt import errors
from nova_rt import wording
from nova_rt.defrag import arrivals
from nova_rt.defrag import cloud as clouds
from nova_rt.defrag import departures
from nova_rt.defrag import exact
from nova_rt.defrag.arrivals import Steps
from nova_rt.defrag.cloud import Cloud
from nova_rt.defrag.cloud import Wanted
from nova_rt.defrag.limits import Limits


class NoPlanError(errors.NovaRTError):
    """There is no plan, or none was found; the message says which.

    :ivar proven: whether there is none
    """

    def __init__(self, message: str, proven: bool) -> None:
        super().__init__(message)
        self.proven = proven


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Steps that make room, one after the other.

    It may be stopped after any step, and be planned anew.

    :ivar before: the cloud that it starts from
    :ivar host: that has the room at its end
    :ivar least: no plan costs less
    """

    before: Cloud
    host: str
    steps: Steps
    least: int

    @property
    def cost(self) -> int:
        """What the steps cost (:mod:`nova_rt.defrag.cloud`)."""
        return clouds.cost(self.steps)

    @property
    def proven(self) -> bool:
        """Whether no plan is cheaper."""
        return self.cost == self.least

    @property
    def after(self) -> Cloud:
        """The cloud at the end."""
        return self.before.follow(self.steps)

    def proof(self, seconds: float) -> str:
        """Return a sentence on whether a plan could be cheaper."""
        if self.proven:
            return 'No plan costs less.'
        return (f'It costs {self.cost}, and every plan at least {self.least}; whether one costs '
                f'less is not known: {_how_to_know(seconds)}.')


def plan(cloud: Cloud, wanted: Wanted, limits: Limits, seconds: float) -> Plan:
    """Return the cheapest plan that was found.

    :param seconds: wall-clock time after which the best plan so far is returned
    :raises NoPlanError: if there is none, or none was found
    """
    ends = time.monotonic() + seconds
    # Half of the time is left for the proof.
    return improved(cloud, wanted, limits,
                    departures.find(cloud, wanted, limits, ends=ends - seconds / 2), ends, seconds)


def improved(cloud: Cloud, wanted: Wanted, limits: Limits, steps: Steps | None, ends: float,
             seconds: float) -> Plan:
    """Return the cheapest plan that was found.

    :param steps: what the quick search found
    :param ends: when the best plan so far is returned, by the monotonic clock
    :param seconds: the time that there was, for sentences
    :raises NoPlanError: if there is none, or none was found
    """
    least: int | None = 0
    # The plan of no steps costs nothing.
    if steps != () and exact.AVAILABLE:
        steps, least = _improved(cloud, wanted, limits, steps, ends)
    if steps is not None and least is not None:
        after = cloud.follow(steps)
        host = next(name for name in sorted(wanted.hosts) if wanted.fits(after.hosts[name]))
        return Plan(cloud, host, steps, least)
    most = (f'{wording.counted(limits.steps, "step")}, of which {limits.migrations} migrate '
            'servers,') if limits.migrations else f'{wording.counted(limits.steps, "move")}'
    if least is None:
        raise NoPlanError(f'No plan of at most {most} makes this room.', True)
    raise NoPlanError(f'No plan of at most {most} was found; there may be one: '
                      f'{_how_to_know(seconds)}.', False)


def _improved(cloud: Cloud, wanted: Wanted, limits: Limits, steps: Steps | None,
              ends: float) -> tuple[Steps | None, int | None]:
    """Return the cheapest steps, and a cost below which there are none; None: none at all."""
    # Imported late: OR-tools loads pandas, and a claim needs neither.
    from nova_rt.defrag import assignment
    if time.monotonic() >= ends or assignment.is_too_large(cloud):
        return steps, 0
    model = assignment.Assignment(cloud, wanted, limits,
                                  None if steps is None else clouds.cost(steps))
    least: int | None = None
    while (left := ends - time.monotonic()) > 0:
        found = model.solve(left)
        if least is None:
            # Later ones leave assignments out that other orders may carry out.
            least = found.least
            if least is None:
                return steps, None if steps is None else clouds.cost(steps)
        if found.targets is None:
            break
        better = _carried_out(cloud, wanted, limits, found.targets, found.host)
        if better is not None and (steps is None or clouds.cost(better) < clouds.cost(steps)):
            steps = better
        if steps is not None and clouds.cost(steps) <= (found.least or 0):
            break
        model.exclude(found)
    return steps, least or 0


def _carried_out(cloud: Cloud, wanted: Wanted, limits: Limits,
                 targets: Mapping[str, tuple[str, str]], host: str) -> Steps | None:
    """Return the steps of an assignment's migrations, None if no order was found."""
    ended = arrivals.migrate_all(cloud, targets, limits.steps)
    if ended is None:
        return None
    after, steps = ended
    moves = arrivals.meets(after, host, wanted, limits.steps - len(steps))
    return None if moves is None else (*steps, *moves)


def _how_to_know(seconds: float) -> str:
    if exact.AVAILABLE:
        return f'more than {seconds:g} s may tell'
    return "OR-tools is needed to tell, so install 'nova-rt[defrag]'"
