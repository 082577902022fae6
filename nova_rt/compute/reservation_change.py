# SPDX-License-Identifier: Apache-2.0
"""Changes of one server's reservation without a resize.

``nova-rt-manage reservation set`` asks for them, and then stores the hint: a
compute node has no access to the database of hints. Until then the server is
locked by its task state, so that no operation meets the new reservation with
the old hint.
"""

from __future__ import annotations

import contextlib

from nova import context as nova_context
from nova import exception
from nova import objects
from nova import utils
from nova.compute import manager as nova_manager
from oslo_log import log as logging

from nova_rt import allocations
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.compute import claims
from nova_rt.compute import due_shares
from nova_rt.compute import in_place_resize
from nova_rt.compute import resource_tracker
from nova_rt.compute import unmoved
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import preempted

LOG = logging.getLogger(__name__)


class ReservationChange:
    """Changes reservations for the compute manager, all or nothing.

    :param manager: its driver must have ``change_reservation(instance, holding)``
    :param tracker: the manager's resource tracker
    """

    def __init__(self, manager: nova_manager.ComputeManager,
                 tracker: resource_tracker.RTResourceTracker) -> None:
        self._manager = manager
        self._tracker = tracker
        # The servers of which a change has begun, or may have, and could not be ended yet.
        self._left: set[str] = set()

    def change(self, context: nova_context.RequestContext, server: str, runtime_us: int,
               period_us: int, note: str | None = None) -> None:
        """Give a server another runtime and period, without a restart.

        All or nothing; then it is locked until its hint is stored.

        :param server: its uuid
        :param note: the mark of a server that is shrunk for another, or given back what it had;
            without one, the server's own is taken away
        :raises ResizeError: with the reason, if the server stays as it was
        :raises InternalError: with a sentence, if it is locked until that is undone
        """
        @utils.synchronized(server)
        def change() -> None:
            with unmoved.fetched(context, server) as instance:
                wanted = reservation.Reservation(
                    runtime_us, period_us, instance.flavor.vcpus)
                self._check_here(instance)
                _check_note(instance, note)
                self._begin(instance, wanted, note)
            failure: Exception | None = None
            try:
                self._change(context, instance)
            except Exception as exc:
                # If the database does not say what was saved, the larger stays claimed.
                self._left.add(server)
                failure, instance = exc, holdings.fetch(context, server)
            try:
                if failure is not None:
                    self._undo_now(context, instance)
            finally:
                self._tracker.settle(context, instance)
            if failure is not None and holdings.HINT_DUE not in instance.system_metadata:
                raise exception.ResizeError(reason=_reason(failure)) from None
            self._tell(context, instance)
        try:
            change()
        except reservation.InvalidReservationError as exc:
            raise exception.ResizeError(reason=_reason(exc)) from None

    def finish_interrupted(self, context: nova_context.RequestContext,
                           instance: objects.Instance) -> None:
        """Undo or complete a change that was interrupted, when the service starts.

        What cannot be, :meth:`undo_left` does.
        """
        self._left.add(instance.uuid)
        self.undo(context, instance)
        self._left.discard(instance.uuid)
        if holdings.HINT_DUE in instance.system_metadata:
            self._tell(context, instance)

    def _undo_now(self, context: nova_context.RequestContext,
                  instance: objects.Instance) -> None:
        """Undo a change, or leave that to :meth:`undo_left`.

        :raises InternalError: with a sentence, then
        """
        try:
            self.undo(context, instance)
        except Exception as exc:
            LOG.warning('A change could not be undone: %s', exc, instance=instance)
            if not isinstance(exc, exception.NovaException):
                raise
            raise exception.InternalError(err=(
                f'The change failed, and could not be undone ({_reason(exc)}). The server '
                'stays locked, and holds the larger reservation, until its host has undone it, '
                'which it tries every minute.')) from None
        self._left.discard(instance.uuid)

    def undo_left(self, context: nova_context.RequestContext) -> None:
        """Undo the changes that could not be undone when they failed, or at start."""
        for server in sorted(self._left):
            try:
                self._undo_later(context, server)
            except Exception as exc:
                LOG.warning('The change of server %s cannot be undone yet: %s', server, exc)

    def _undo_later(self, context: nova_context.RequestContext, server: str) -> None:
        @utils.synchronized(server)
        def undo() -> None:
            with contextlib.suppress(exception.InstanceNotFound):
                instance = holdings.fetch(context, server)
                if instance.host == self._manager.host and in_place.by_hint(instance):
                    if instance.task_state not in (in_place.CHANGING, None):
                        # When that has ended.
                        return
                    self.finish_interrupted(context, instance)
                    self._tracker.settle(context, instance)
            self._left.discard(server)
        undo()

    def undo(self, context: nova_context.RequestContext, instance: objects.Instance) -> None:
        """Give a server back what it had; repeated, it does what is left.

        A change that was interrupted within Nova's save is completed: Nova writes the flavor
        first, and from then on nothing says what the server had.
        """
        if instance.new_flavor is None:
            if in_place.by_hint(instance):
                self._complete(instance)
            return
        old = in_place.before(instance)
        self._manager.driver.change_reservation(instance, old)
        self._set_share(context, instance, old)
        holdings.end_move(instance)
        in_place.record_undone(instance)
        instance.task_state = None
        # At start, Nova itself forgets what was under way.
        instance.save(expected_task_state=[in_place.CHANGING, None])

    def _complete(self, instance: objects.Instance) -> None:
        self._manager.driver.change_reservation(instance, in_place.after(instance))
        due_shares.mark(instance)
        _record(instance)
        instance.save(expected_task_state=[in_place.CHANGING, None])

    def _check_here(self, instance: objects.Instance) -> None:
        """Refuse what was asked of this host before the server left it.

        :raises ResizeError: then
        """
        if instance.host != self._manager.host:
            raise exception.ResizeError(
                reason=f'it is no longer on {self._manager.host}, so that another host has to be '
                       'asked: try again')

    def _begin(self, instance: objects.Instance, wanted: reservation.Reservation,
               note: str | None) -> None:
        """Claim the change, and lock the server with it and its note recorded."""
        flavor = flavors.with_reservation(instance.flavor, wanted)
        if not in_place.possible(instance, flavor):
            raise exception.ResizeError(
                reason='only a server that is active or stopped, and has a '
                       'reservation, can be given another one in place')
        preempted.set_next(instance, note)
        try:
            self._tracker.claim_in_place(instance, flavor, in_place.CHANGING)
        except claims.NoRoomOnHostError as exc:
            raise exception.ResizeError(reason=_reason(exc)) from None
        except exception.UnexpectedTaskStateError:
            raise exception.ResizeError(
                reason='another operation is under way') from None
        except Exception:
            # It may have been saved all the same.
            self._left.add(instance.uuid)
            raise

    def _change(self, context: nova_context.RequestContext, instance: objects.Instance) -> None:
        old, new = in_place.before(instance), in_place.after(instance)
        flavor = instance.new_flavor
        if flavor is None:
            raise LookupError(f'Server {instance.uuid} has no new flavor.')
        if new.reservation.share > old.reservation.share:
            self._set_share(context, instance, new)
        elif new.reservation.share < old.reservation.share:
            due_shares.mark(instance)
        self._manager.driver.change_reservation(instance, new)
        instance.flavor = flavor
        instance.new_flavor = None
        _record(instance)
        instance.save(expected_task_state=in_place.CHANGING)
        LOG.info('Changed the reservation to %d µs every %d µs.',
                 new.reservation.runtime_us, new.reservation.period_us,
                 instance=instance)

    def _set_share(self, context: nova_context.RequestContext, instance: objects.Instance,
                   holding: ledger.Holding) -> None:
        if not self._placement(context).set_share(
                instance.uuid, in_place_resize.provider_of(instance),
                holding.reservation.share):
            raise exception.ResizeError(
                reason=f'Placement has not enough left of {instance.node}')

    def _tell(self, context: nova_context.RequestContext, instance: objects.Instance) -> None:
        """Tell Placement what a server has now; what is not heard is told within a minute."""
        holding = holdings.holding_of(instance)
        if holding is not None:
            self._placement(context).try_to_set_share(
                instance.uuid, in_place_resize.provider_of(instance), holding.reservation.share)

    def _placement(self, context: nova_context.RequestContext) -> allocations.PlacementClient:
        return allocations.PlacementClient(
            context.elevated(), self._manager.reportclient)


def _record(instance: objects.Instance) -> None:
    """Record that a server has its new reservation, and is locked until its hint is stored."""
    holdings.end_move(instance)
    in_place.record_done(instance)
    instance.task_state = in_place.CHANGED


def _check_note(instance: objects.Instance, note: str | None) -> None:
    """Refuse what was decided before somebody else changed the server.

    :raises ResizeError: then
    """
    if note is None:
        return
    has = flavors.reservation_of(instance.flavor)
    try:
        mark = preempted.from_text(note)
    except ValueError:
        raise exception.ResizeError(reason='what is to be noted cannot be read') from None
    if mark.returned:
        # Who has locked it does not mind having more; who wants it to stay so takes its mark.
        keeps = preempted.MARK not in instance.system_metadata
    else:
        # Another flavor may have another criticality.
        keeps = instance.locked or mark.flavor != instance.instance_type_id
    if keeps or has is None or (has.runtime_us, has.period_us) != (
            mark.was_us, mark.period_us):
        raise exception.ResizeError(
            reason='it was locked, resized or given another reservation meanwhile')


def _reason(exc: Exception) -> str:
    # It ends up in the middle of a sentence.
    reason = exc.kwargs.get('reason') if isinstance(exc, exception.NovaException) else None
    return str(reason or exc).removesuffix('.')
