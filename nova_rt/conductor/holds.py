# SPDX-License-Identifier: Apache-2.0
"""The hold on a waiting server of the one attempt that works on it.

It is renewed while the attempt lives, however long Nova's scheduler takes. An attempt that
was killed is taken for dead some time after the last one (:data:`LEASE_S`); one that was only
stopped for that long finds out before it changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import threading
import time

from nova import context as nova_context
from nova import exception
from nova import objects
from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_rt.instance import waiting

LOG = logging.getLogger(__name__)

# More than the clocks of two conductors differ by, and many renewals. One that is leaving may
# be in a cell already, where Nova looks once more whether its request is there: for that
# moment, who was only stopped must not be taken for dead.
LEASE_S = {waiting.Step.WAITS: 60.0, waiting.Step.TRIED: 60.0, waiting.Step.LEAVES: 600.0}
_RENEWED_S = 10.0


class LostError(Exception):
    """Another attempt has the server: it is not ours to place, or to bury."""


class GoneError(Exception):
    """The server was deleted, by its user."""


class Hold:
    """A server that this attempt alone works on.

    :ivar before: it as it was when it was taken
    :ivar avoid: hosts that it is not to go to now
    :ivar chosen: the host that it goes to, None before that is known
    """

    avoid: frozenset[str] = frozenset()
    chosen: str | None = None

    def __init__(self, before: waiting.Waiting, now: waiting.Waiting) -> None:
        self.before = before
        self._now = now
        self._lock = threading.Lock()
        # None of the request's own: a renewal must not share its database session.
        self._context = nova_context.get_admin_context()

    @property
    def server(self) -> str:
        """Its uuid."""
        return self.before.server

    @property
    def step(self) -> waiting.Step:
        """How far it has come."""
        return self._now.mark.step

    @contextlib.contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew the hold in here, from a thread of its own."""
        over = threading.Event()
        thread = threading.Thread(target=self._renew, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def go_on(self, step: waiting.Step) -> None:
        """Record that the server has come further.

        :raises LostError: if another attempt has it
        :raises GoneError: if it was deleted
        """
        self._change(step=step, held_until_s=time.time() + LEASE_S[step])

    def put_back(self, reason: str) -> None:
        """Let it wait on.

        :param reason: why it was refused, a sentence
        :raises LostError: if another attempt has it
        :raises GoneError: if it was deleted
        """
        self._change(step=waiting.Step.WAITS, holder='', held_until_s=0.0, reason=reason)

    def let_go(self) -> None:
        """Leave it to the next attempt to find out how far this one has come.

        :raises LostError: if another attempt has it
        :raises GoneError: if it was deleted
        """
        self._change(holder='', held_until_s=0.0)

    def end(self) -> None:
        """Delete the request to build it, as it is built, or has its fault.

        :raises LostError: if another attempt has it
        :raises GoneError: if it was deleted
        """
        with self._lock:
            if not waiting.end(self._context, self._now):
                # This attempt has said itself which cell the server is in.
                raise self._lost(in_a_cell=False)

    def _change(self, **changes: object) -> None:
        with self._lock:
            mark = dataclasses.replace(self._now.mark, **changes)  # type: ignore[arg-type]
            changed = waiting.change(self._context, self._now, mark)
            if changed is None:
                raise self._lost(self._is_in_a_cell())
            self._now = changed

    def _lost(self, in_a_cell: bool) -> LostError | GoneError:
        if waiting.exists(self._context, self.server) or in_a_cell:
            return LostError(f'Another attempt has server {self.server}.')
        return GoneError(f'Server {self.server} was deleted.')

    def _is_in_a_cell(self) -> bool:
        """Return whether the server is in a cell, where another attempt has put it."""
        try:
            mapping = objects.InstanceMapping.get_by_instance_uuid(self._context, self.server)
        except exception.InstanceMappingNotFound:
            return False
        return mapping.cell_mapping is not None

    def _renew(self, over: threading.Event) -> None:
        while not over.wait(_RENEWED_S):
            try:
                if self._now.mark.holder:
                    with contextlib.suppress(LostError, GoneError):
                        self._change(held_until_s=time.time() + LEASE_S[self.step])
            except Exception:
                # The next time may come early enough.
                LOG.exception('The hold on server %s was not renewed.', self.server)


def take(context: nova_context.RequestContext, found: waiting.Waiting) -> Hold | None:
    """Return a hold on a server that waits; None if somebody was faster."""
    mark = found.mark
    if mark.held(time.time()):
        return None
    step = waiting.Step.TRIED if mark.step is waiting.Step.WAITS else mark.step
    taken = waiting.change(context, found, dataclasses.replace(
        mark, step=step, holder=uuidutils.generate_uuid(),
        held_until_s=time.time() + LEASE_S[step]))
    return None if taken is None else Hold(found, taken)
