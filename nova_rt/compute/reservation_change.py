# SPDX-License-Identifier: Apache-2.0
"""The compute manager's part that gives one server another reservation.

It is asked by ``nova-rt-manage reservation set``, which then stores the hint: a
compute node has no access to the database that the hints are in. Until that is
done, the server is locked by its task state, so that no operation meets the new
reservation with the old hint.
"""

from nova import exception
from nova import objects
from nova import utils
from nova.compute import task_states
from oslo_log import log as logging
import oslo_messaging

from nova_rt import allocations
from nova_rt import reservation
from nova_rt.compute import claims
from nova_rt.compute import in_place_resize
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place

LOG = logging.getLogger(__name__)

# What the server is locked by: while it is changed, and until its hint is.
CHANGING = task_states.RESIZE_PREP
CHANGED = task_states.RESIZE_FINISH


class HintManager(in_place_resize.InPlaceManager):
    """Nova's compute manager, which changes a reservation when it is asked."""

    @oslo_messaging.expected_exceptions(exception.ResizeError)
    def change_reservation(self, context, instance, runtime_us, period_us):
        """Give a server another runtime and period, without a restart.

        All or nothing; then it is locked until its hint is stored.

        :raises ResizeError: with the reason, if the server stays as it was
        """
        @utils.synchronized(instance.uuid)
        def change():
            fresh = fetched(context, instance.uuid)
            wanted = reservation.Reservation(
                runtime_us, period_us, fresh.flavor.vcpus)
            self._begin(context, fresh, wanted)
            try:
                self._change(context, fresh)
            except Exception as why:
                fresh = fetched(context, instance.uuid)
                self._undo(context, fresh)
                raise exception.ResizeError(reason=str(why)) from None
            finally:
                self.rt.settle_in_place(context, fresh)
            allocations.try_to_set_share(
                context.elevated(), self.reportclient, fresh.uuid,
                self.provider_of(fresh), wanted.share)
        try:
            change()
        except reservation.InvalidReservationError as why:
            raise exception.ResizeError(reason=str(why)) from None

    def finish_interrupted(self, context, instance):
        """See base class; a change without a resize is undone."""
        if in_place.by_hint(instance):
            self._undo(context, instance)
        else:
            super().finish_interrupted(context, instance)

    def _begin(self, context, instance, wanted):
        """Claim the change, and lock the server with it noted."""
        flavor = flavors.with_reservation(instance.flavor, wanted)
        if not in_place.possible(instance, flavor):
            raise exception.ResizeError(
                reason='only a server that is active or stopped, and has a '
                       'reservation, can be given another one in place')
        try:
            self.rt.claim_in_place(instance, flavor, CHANGING)
        except claims.NoRoomOnHostError as why:
            raise exception.ResizeError(reason=str(why)) from None
        except exception.UnexpectedTaskStateError:
            raise exception.ResizeError(
                reason='another operation is under way') from None

    def _change(self, context, instance):
        old = in_place.side(instance, holdings.OLD)
        new = in_place.side(instance, holdings.NEW)
        if new.reservation.share > old.reservation.share:
            self._promise(context, instance, new)
        self.driver.change_reservation(instance, new)
        instance.flavor = instance.new_flavor
        instance.new_flavor = None
        holdings.end_move(instance)
        instance.system_metadata[holdings.HINT_DUE] = 'yes'
        instance.task_state = CHANGED
        instance.save(expected_task_state=CHANGING)
        LOG.info('Changed the reservation to %d µs every %d µs.',
                 new.reservation.runtime_us, new.reservation.period_us,
                 instance=instance)

    def _undo(self, context, instance):
        """Give a server back what it had; again does the rest."""
        if instance.new_flavor is None:
            return
        old = in_place.side(instance, holdings.OLD)
        self.driver.change_reservation(instance, old)
        self._promise(context, instance, old)
        holdings.end_move(instance)
        instance.new_flavor = None
        instance.task_state = None
        # Nova itself forgets at start what was under way.
        instance.save(expected_task_state=[CHANGING, None])

    def _promise(self, context, instance, holding):
        if not allocations.set_share(
                context.elevated(), self.reportclient, instance.uuid,
                self.provider_of(instance), holding.reservation.share):
            raise exception.ResizeError(
                reason=f'Placement has not enough left of {instance.node}')


def fetched(context, server):
    """Return a server, by its uuid, with what its reservation is read from."""
    return objects.Instance.get_by_uuid(
        context, server, ['system_metadata', 'flavor'])
