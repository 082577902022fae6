# SPDX-License-Identifier: Apache-2.0
"""Moves of vCPUs between the pCPUs of this host.

The server has its bandwidth on both pCPUs until the move is over, in the ledger and
in the kernel, so it never has less, and takes nothing of anybody else's.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import time
from typing import Protocol

from nova import context as nova_context
from nova import exception
from nova import objects
from oslo_log import log as logging

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.defrag import planner
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import vcpu_move
from nova_rt.reaction import better_pcpu

LOG = logging.getLogger(__name__)


class Driver(Protocol):
    """What a move asks of the compute driver."""

    def move_vcpu(self, instance: objects.Instance, holding: ledger.Holding) -> None:
        """Take a vCPU of a server to another pCPU.

        :raises MigrationError: if that is not possible
        """


class Tracker(Protocol):
    """What moves ask of the resource tracker."""

    host: str
    driver: Driver

    @property
    def shares(self) -> shares.HostShares:
        """The host with everything that is held on it."""

    def hold(self, instance: objects.Instance) -> None:
        """Hold what an instance says."""


class VCPUMoves:
    """Moves vCPUs for the resource tracker, under its lock.

    :param tracker: whose lock is held
    """

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def make_room(self, nodename: str, wanted: reservation.Reservation) -> bool:
        """Move vCPUs of other servers so that a reservation fits.

        :returns: whether that was done; if not, what was moved stays where it is
        """
        held = {
            instance.uuid: holding for instance in objects.InstanceList.get_by_host_and_node(
                nova_context.get_admin_context(), self._tracker.host, nodename,
                expected_attrs=['system_metadata', 'flavor'])
            if vcpu_move.movable(instance)
            and (holding := holdings.holding_of(instance)) is not None}
        plan = planner.room(self._tracker.shares, held, wanted)
        if plan is None:
            return False
        LOG.info('Making room for %s by %d move(s).', wanted, len(plan.moves))
        try:
            for move in plan.moves:
                self.move(move.server, move.source, move.target)
        except (exception.MigrationError, exception.InternalError,
                exception.NotFound) as exc:
            LOG.warning('No room was made: %s', exc)
            return False
        return True

    def move(self, server: str, source: int, target: int) -> str:
        """Move a vCPU to another pCPU of this host.

        :param server: its uuid
        :returns: the node that the server is on
        :raises MigrationError: with a clause, if the server stays as it was
        :raises InternalError: with a sentence, if it holds both pCPUs for now
        :raises InstanceNotFound: if it has gone
        """
        # What was read before the lock was free may be of another time.
        instance = holdings.fetch(nova_context.get_admin_context(), server)
        try:
            if instance.host != self._tracker.host:
                raise vcpu_move.UnmovableError('it has left this host')
            new = vcpu_move.after(instance, source, target)
            check_room(self._tracker.shares, new.reservation, target)
            vcpu_move.begin(instance, new)
        except vcpu_move.UnmovableError as exc:
            raise exception.MigrationError(reason=str(exc)) from None
        except exception.UnexpectedTaskStateError:
            raise exception.MigrationError(reason='another operation is under way') from None
        self._tracker.hold(instance)
        try:
            carry_out(self._tracker.driver, instance)
        finally:
            self._tracker.hold(instance)
        node: str = instance.node
        return node

    def relieve(self, server: str, most: int, lent: Mapping[int, int]) -> str | None:
        """Move a vCPU of a server to where more can be lent to it.

        :param most: the bandwidth that may be lent on each pCPU, in fixed point
        :param lent: what it has on loan, by pCPU
        :returns: the node that the server is on; None if no pCPU is better, or it cannot be
            moved now
        :raises: as :meth:`move`
        """
        instance = holdings.fetch(nova_context.get_admin_context(), server)
        holding = holdings.holding_of(instance)
        if holding is None or not vcpu_move.movable(instance):
            return None
        found = better_pcpu.find(self._tracker.shares, holding, most, lent)
        return None if found is None else self.move(server, *found)

    def undo_interrupted(self, instances: Iterable[objects.Instance]) -> None:
        """Undo moves that were interrupted: none is under way while the lock is held.

        :param instances: all that are here
        """
        for instance in filter(in_place.by_move, instances):
            try:
                undo(self._tracker.driver, instance, in_place.before(instance))
            except Exception as exc:
                LOG.warning(
                    'The move of a vCPU cannot be undone yet, so both pCPUs are held: %s',
                    exc, instance=instance)


def check_room(host: shares.HostShares, moved: reservation.Reservation, target: int) -> None:
    """Raise UnmovableError unless a pCPU has room for a vCPU.

    :param host: with all that is held on it
    """
    offers = target < len(host.capacity) and host.capacity[target]
    if host.occupancy is shares.Occupancy.EVERY or not offers:
        raise vcpu_move.UnmovableError(f'no vCPU can be moved to pCPU {target} of this host')
    if host.left[target] < moved.bandwidth:
        raise vcpu_move.UnmovableError(
            f'{bandwidth.percent(moved.bandwidth)} is needed on pCPU {target}, which has '
            f'{bandwidth.percent(host.left[target])} left')


def carry_out(driver: Driver, instance: objects.Instance) -> None:
    """Carry out a move that has begun, or undo it.

    The pCPU that the vCPU leaves counts as held for one period more: what the vCPU has run
    there, it may have run before its time (the zero-lag time of the CBS, by which the
    kernel, too, gives back the bandwidth of a thread that ends).

    :raises MigrationError: with a clause, if the server has what it had
    :raises InternalError: with a sentence, if it holds both pCPUs until the tracker looks next
    """
    old, new = in_place.before(instance), in_place.after(instance)
    try:
        driver.move_vcpu(instance, new)
    except Exception as exc:
        LOG.warning('A vCPU could not be moved from pCPUs %s to %s: %s', *_ranges(old, new),
                    exc, instance=instance)
        _undo_now(driver, instance, old)
        raise exception.MigrationError(reason=_reason(exc)) from None
    time.sleep(new.reservation.period_us / 1e6)
    try:
        vcpu_move.end(instance, new)
    except Exception as exc:
        # It may have been saved all the same: then there is nothing to undo.
        LOG.warning('Whether the move of a vCPU was saved is not known: %s', exc,
                    instance=instance)
        raise exception.InternalError(err=(
            f'Whether the move was saved is not known ({_reason(exc)}). The server holds '
            'both pCPUs until its host looks again, which it does every minute.')) from None
    LOG.info('Moved a vCPU: from pCPUs %s to %s.', *_ranges(old, new), instance=instance)


def undo(driver: Driver, instance: objects.Instance, old: ledger.Holding) -> None:
    """Give a server the pCPUs back that it had; repeated, it does what is left."""
    driver.move_vcpu(instance, old)
    time.sleep(old.reservation.period_us / 1e6)
    vcpu_move.end(instance, old)


def _undo_now(driver: Driver, instance: objects.Instance, old: ledger.Holding) -> None:
    """Undo a move.

    :raises InternalError: with a sentence, if that fails
    """
    try:
        undo(driver, instance, old)
    except Exception as exc:
        LOG.warning('That could not be undone: %s', exc, instance=instance)
        raise exception.InternalError(err=(
            f'The move failed, and could not be undone ({_reason(exc)}). The server holds both '
            'pCPUs until its host has undone it, which it tries every minute.')) from None


def _ranges(*holdings: ledger.Holding) -> list[str]:
    return [ledger.ranges(sorted(holding.pcpus)) for holding in holdings]


def _reason(exc: Exception) -> str:
    """Return a clause."""
    reason = exc.kwargs.get('reason') if isinstance(exc, exception.NovaException) else None
    return str(reason or exc).removesuffix('.')
