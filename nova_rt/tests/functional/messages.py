# SPDX-License-Identifier: Apache-2.0
"""The messages between Nova's services in a test, and what can befall them.

oslo.messaging's fake driver looks for messages every 50 ms, and nobody can
tell whether all have been dealt with; a service of Nova's fixtures can only be
stopped, which waits until it has ended what it does. This fixture delivers at
once, knows when nothing is in motion, loses messages, kills services, and lets
what they call fail. A call fails soon if who was to answer it is dead, and waits
for one who is only slow.
"""

import contextlib
import dataclasses
import enum
import errno
import queue
import threading
import time
import types

import fixtures
import futurist._thread
from nova import rpc
from nova import service
from nova import thread_pool_factory
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import enginefacade
import oslo_messaging
from oslo_messaging._drivers import impl_fake
from oslo_messaging.rpc import client as rpc_client
from oslo_messaging.rpc import server as rpc_server
import requests

from nova_rt.testing import fake_kernel
from nova_rt.testing import fake_machine_driver
from nova_rt.tests.functional import killed
from nova_rt.virt import notebook
from nova_rt.virt.cgroup import errors

_PAUSE_S = 1
# The modules of exceptions that come through to who called another service.
_KNOWN_ELSEWHERE = (*rpc.get_allowed_exmods(), oslo_messaging.exceptions.__name__)


class Away(enum.Enum):
    """What a service calls, by what it raises when it fails."""

    DATABASE = (db_exception.DBConnectionError,)
    PLACEMENT = (requests.exceptions.ConnectionError,)
    NOTES = (OSError, errno.ENOSPC, 'No space left on device')
    KERNEL = (errors.KernelRefusalError, 'no', errno.EINVAL)

    def error(self):
        kind, *args = self.value
        return kind(*args)


FAILURES = tuple(away.value[0] for away in (Away.DATABASE, Away.PLACEMENT))
"""What a task fails with that Nova tries again."""


@dataclasses.dataclass
class _Failure:
    """A call of a service that is to fail.

    :ivar calls: how many such calls do not fail before
    :ivar thread: whose call it is, None for any
    """

    away: Away
    calls: int
    thread: int | None


class _Answer(queue.Queue):
    """Where the answer to a call arrives.

    :ivar hopeless: whether none will
    """

    hopeless = staticmethod(lambda: False)

    def get(self, block=True, timeout=None):
        """See base class; there is no need to wait for the dead."""
        end = time.monotonic() + timeout
        while True:
            try:
                return super().get(block, min(timeout, _PAUSE_S))
            except queue.Empty:
                if time.monotonic() > end or self.hopeless():
                    raise


class Messages(fixtures.Fixture):
    """Delivers messages at once, and knows what is on its way.

    :ivar loses: called with the method of each cast: whether it is lost
    """

    def _setUp(self):
        self.loses = lambda method: False
        self._changed = threading.Condition()
        self._changes = 0
        self._working = 0
        self._listeners = set()
        self._thread = threading.local()
        self._steps_left = {}
        # By manager.
        self._failures = {}
        # Hundreds of threads wait; each looks in every second whether to end.
        self.useFixture(fixtures.MockPatchObject(
            futurist._thread.ThreadWorker, 'MAX_IDLE_FOR', 2))
        self.useFixture(fixtures.MockPatchObject(
            impl_fake, 'queue', types.SimpleNamespace(Queue=_Answer, Empty=queue.Empty)))
        self.useFixture(fixtures.MockPatchObject(
            impl_fake, 'time', types.SimpleNamespace(
                time=time.time, sleep=self._until_changed)))
        for owner, name, instead in (
                (impl_fake.FakeListener, '__init__', self._listen),
                (impl_fake.FakeListener, 'stop', self._stop_listening),
                (impl_fake.FakeExchange, 'deliver_message', self._deliver),
                (impl_fake.FakeExchange, 'poll', self._poll),
                (rpc_server.RPCServer, '_process_incoming', self._process),
                (thread_pool_factory, 'spawn_on', self._spawn),
                (service.Service, '_wait_rpc_server', self._await_end),
                (rpc_client._BaseCallContext, 'cast', self._cast),
                (impl_fake.FakeDriver, '_send', self._step_out),
                (fake_kernel.FakeKernel, 'start', self._act),
                (fake_kernel.FakeKernel, 'stop', self._act),
                (fake_kernel.FakeKernel, 'write', self._write),
                (notebook.Notebook, 'write', self._note),
                (notebook.Notebook, 'forget', self._act),
                (fake_machine_driver.FakeHypervisor, 'create', self._act),
                (fake_machine_driver.FakeHypervisor, 'destroy', self._act),
                (fake_machine_driver.FakeHypervisor, 'migrate', self._act),
                (fake_machine_driver.FakeHypervisor, 'resume', self._act),
                (fake_machine_driver.FakeHypervisor, 'write', self._act),
                (requests.Session, 'request', self._ask_other),
                (enginefacade._TransactionContextManager,
                 '_transaction_scope', self._transact)):
            self._replace(owner, name, instead)

    def _replace(self, owner, name, instead):
        real = getattr(owner, name)
        self.useFixture(fixtures.MockPatchObject(
            owner, name,
            lambda *args, **kwargs: instead(real, *args, **kwargs)))

    # Whether anything is in motion

    def rest(self, patience):
        """Wait until all messages, and what they began, have been dealt with.

        Messages to a service that does not run do not count.

        :param patience: seconds
        :returns: whether all came to rest in time
        """
        with self._changed:
            return self._changed.wait_for(self._is_at_rest, patience)

    def _is_at_rest(self):
        return not self._working and not any(
            map(_has_messages, self._listeners))

    def _listen(self, real, listener, *args, **kwargs):
        real(listener, *args, **kwargs)
        with self._changed:
            self._listeners.add(listener)

    def _stop_listening(self, real, listener):
        real(listener)
        with self._changed:
            self._listeners.discard(listener)
            self._notify()

    def _deliver(self, real, exchange, topic, *args, server, reply_q, **kwargs):
        if reply_q is not None:
            reply_q.hopeless = lambda: not self._listens(topic, server)
        with self._changed:
            real(exchange, topic, *args, server=server, reply_q=reply_q, **kwargs)
            self._notify()

    def _listens(self, topic, server):
        with self._changed:
            return any(target.topic == topic and server in (None, target.server)
                       for listener in self._listeners for target in listener._targets)

    def _poll(self, real, *args):
        with self._changed:
            if getattr(self._thread, 'seen', None) is None:
                self._thread.seen = self._changes
            found = real(*args)
            if found[1] is not None:
                self._working += 1
            return found

    def _until_changed(self, pause):
        seen, self._thread.seen = self._thread.seen, None
        with self._changed:
            self._changed.wait_for(lambda: self._changes != seen, _PAUSE_S)

    def _notify(self):
        self._changes += 1
        self._changed.notify_all()

    def _process(self, real, server, incoming):
        # Nobody waits for the answer to a cast.
        answer = incoming[0]._reply_q or _Answer()
        # Somebody listens, whoever does so from now on.
        answer.hopeless = lambda: False
        try:
            with self.as_service(server.dispatcher.endpoints[0]._tracker):
                real(server, incoming)
        except killed.Killed:
            answer.hopeless = lambda: True
            raise
        finally:
            self._done()

    def _spawn(self, real, executor, work, *args, **kwargs):
        manager = self._manager

        def wrapped(*args, **kwargs):
            with self.as_service(manager):
                return work(*args, **kwargs)
        with self._changed:
            self._working += 1
        future = real(executor, wrapped, *args, **kwargs)
        future.add_done_callback(lambda future: self._done())
        return future

    def _done(self):
        with self._changed:
            self._working -= 1
            if not self._working:
                self._changed.notify_all()

    # What is lost, and who dies

    def kill(self, manager, steps=0):
        """Have a service die when it has taken some more steps.

        A step is what others see: a transaction, a message, a request to
        another service, a container started or ended, a write to the kernel, a note.
        """
        with self._changed:
            self._steps_left[manager] = steps

    def spare(self, manager):
        """Let a service live that was to die.

        :returns: whether it was not too late
        """
        with self._changed:
            if self._steps_left.get(manager) == 0:
                return False
            self._steps_left.pop(manager, None)
            return True

    def fail(self, manager, away, calls=0, thread=None):
        """Have one call of a service fail.

        :param away: what it calls then
        :param calls: how many such calls do not fail before
        :param thread: by whose number only this thread's calls count
        """
        with self._changed:
            self._failures[manager] = _Failure(away, calls, thread)

    def mend(self, manager):
        """Let calls of a service fail no more.

        :returns: whether one has failed, or there was to be none
        """
        with self._changed:
            return self._failures.pop(manager, None) is None

    def _call(self, away):
        """Raise what a call raises that is to fail."""
        with self._changed:
            due = self._failures.get(self._manager)
            if due is None or due.away is not away or due.thread not in (
                    None, threading.get_ident()):
                return
            due.calls -= 1
            if due.calls >= 0:
                return
            del self._failures[self._manager]
        raise away.error()

    def _await_end(self, real, ended, server, topic):
        if self._steps_left.get(ended.manager) == 0:
            # Its threads are dead, or as good as that.
            server._work_executor.shutdown(wait=False)
        else:
            real(ended, server, topic)

    def _cast(self, real, target, context, method, **kwargs):
        if not self.loses(method):
            real(target, context, method, **kwargs)

    def _step(self):
        manager = self._manager
        with self._changed:
            left = self._steps_left.get(manager)
            if left == 0:
                raise killed.Killed(manager)
            if left:
                self._steps_left[manager] = left - 1

    def _step_out(self, real, *args, **kwargs):
        """Send a message; of a failure, callers learn what a real broker would bring."""
        self._step()
        try:
            return real(*args, **kwargs)
        except Exception as exc:
            if type(exc).__module__ in _KNOWN_ELSEWHERE:
                raise
            raise oslo_messaging.RemoteError(type(exc).__name__, str(exc)) from exc

    def _act(self, real, *args, **kwargs):
        """Do something to the host, which is done when a kill is."""
        with self._changed:
            self._step()
            return real(*args, **kwargs)

    def _write(self, real, *args, **kwargs):
        self._call(Away.KERNEL)
        return self._act(real, *args, **kwargs)

    def _note(self, real, *args, **kwargs):
        self._call(Away.NOTES)
        return self._act(real, *args, **kwargs)

    def _ask_other(self, real, *args, **kwargs):
        self._step()
        self._call(Away.PLACEMENT)
        # Placement answers in the thread of who asks, and does not die.
        with self.as_service(None):
            return real(*args, **kwargs)

    @contextlib.contextmanager
    def _transact(self, real, scope, context):
        if scope._mode is enginefacade._WRITER:
            self._step()
        self._call(Away.DATABASE)
        with real(scope, context) as resource:
            yield resource

    @property
    def _manager(self):
        return getattr(self._thread, 'manager', None)

    @contextlib.contextmanager
    def as_service(self, manager):
        """Have this thread be one of a service: with it, it dies."""
        before, self._thread.manager = self._manager, manager
        try:
            yield
        finally:
            self._thread.manager = before


def _has_messages(listener):
    for target in listener._targets:
        exchange = listener._exchange_manager.get_exchange(target.exchange)
        if target.server:
            queue = exchange._get_server_queue(target.topic, target.server)
        else:
            queue = exchange._get_topic_queue(target.topic, listener._pool)
        if queue:
            return True
    return False
