# SPDX-License-Identifier: Apache-2.0
"""The reactor hears virtual machines by sockets on which a test listens as QEMU does."""

import socket
import time

import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.monitor import notes
from nova_rt.reaction import ears
from nova_rt.reaction import loan_policy
from nova_rt.reaction import reactor
from nova_rt.reaction import threshold
from nova_rt.testing import retries
from nova_rt.tests.unit.monitor import examples
from nova_rt.virt import containers
from nova_rt.virt import machine_host

pytestmark = retries.ONCE

PATIENCE_S = 30
WEB = 'web'
HELD = ledger.Holding(reservation.Reservation(30_000, 100_000, 1), (0,))
POLICY = loan_policy.LoanPolicy(threshold.Threshold(1, 60.0), 1, 600.0)
SAID = ('It missed 1 deadline or more within 60 s. Nothing is lent to virtual machines: give '
        'it a larger reservation if that goes on.')


class Machine:
    """A start of a virtual machine, with the socket of its port."""

    def __init__(self, folder, number):
        self.domain = containers.Container(number, HELD, str(folder / f'port-{number}'))
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(PATIENCE_S)
        self._listener.bind(self.domain.port)
        self._listener.listen(1)
        self._streams = []

    def accept(self):
        # As each connection that stays follows one that does not.
        self._listener.accept()[0].close()
        self._streams.append(self._listener.accept()[0])
        return self._streams[-1]

    def end(self):
        for each in (self._listener, *self._streams):
            each.close()


class Node:
    def __init__(self, folder):
        self.told, self.shrunk, self.runs = [], [], {}
        host = machine_host.MachineHost.__new__(machine_host.MachineHost)
        self.reactor = reactor.Reactor(
            host, lambda: dict(self.runs), POLICY,
            lambda *sentence: self.told.append(sentence),
            lambda *sentence: self.shrunk.append(sentence), 0.0, ears.to_machine)

    def run(self, machine):
        self.runs[WEB] = machine.domain
        self.reactor.look_again()


@pytest.fixture
def node(tmp_path, monkeypatch):
    monkeypatch.setattr(notes, 'FOLDER', tmp_path / 'heard')
    made = Node(tmp_path)
    made.reactor.start()
    yield made
    made.reactor.stop()


@pytest.fixture
def machine(tmp_path):
    made = []

    def machine(number):
        made.append(Machine(tmp_path, number))
        return made[-1]
    yield machine
    for each in made:
        each.end()


def eventually(holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_machine_that_misses_is_lent_nothing_and_its_user_told_why(node, machine):
    web = machine(1)
    node.run(web)
    web.accept().send(examples.missed(1))
    eventually(lambda: node.told)
    assert node.told == [(WEB, SAID)]
    assert not node.shrunk


def test_each_start_of_it_is_heard(node, machine):
    for number in (1, 2):
        node.told.clear()
        web = machine(number)
        node.run(web)
        web.accept().send(examples.missed(1))
        eventually(lambda: node.told)
        web.end()


def test_it_is_heard_again_if_only_its_stream_has_ended(node, machine):
    web = machine(1)
    node.run(web)
    web.accept().close()
    eventually(lambda: not node.reactor._watcher.hears(WEB))
    node.reactor.look_again()
    web.accept().send(examples.missed(1))
    eventually(lambda: node.told)


def test_one_without_a_port_is_left_out(node, machine):
    node.runs['old'] = containers.Container(7, HELD)
    web = machine(1)
    node.run(web)
    web.accept()
    eventually(lambda: set(node.reactor._known) == {WEB})


def test_one_on_whose_port_nobody_listens_yet_is_tried_again(node, machine, tmp_path):
    node.runs[WEB] = containers.Container(1, HELD, str(tmp_path / 'port-1'))
    node.reactor.look_again()
    time.sleep(0.1)
    assert not node.reactor._known
    web = machine(1)
    node.run(web)
    web.accept()
    eventually(lambda: set(node.reactor._known) == {WEB})
