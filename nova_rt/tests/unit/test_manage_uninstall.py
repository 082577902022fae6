# SPDX-License-Identifier: Apache-2.0
import json

from keystoneauth1 import exceptions as ks_exc
import pytest

from nova_rt.cmd import manage
from nova_rt.cmd import manage_uninstall
from nova_rt.removal import host
from nova_rt.removal import machine
from nova_rt.removal import remnants

OURS = remnants.Remnant('cell cell1', 'generated columns', 'nova-rt-manage db downgrade')
YOURS = remnants.Remnant('flavor rt1', 'it has a runtime', 'openstack flavor unset', ours=False)


class Cloud:
    """Says what it is told to, and notes how it is cleaned."""

    def __init__(self, *left, trouble=None):
        self.remnants = left
        self.trouble = trouble
        self.cleaned = []

    def left(self):
        if self.trouble:
            raise self.trouble
        yield from self.remnants

    def clean(self, abandon):
        self.cleaned.append(abandon)


@pytest.fixture
def run(monkeypatch, capsys):
    def uninstall(cloud, *arguments):
        monkeypatch.setattr(manage_uninstall, '_cloud', lambda: cloud)
        monkeypatch.setattr(machine, 'left', lambda conf: iter(()))
        monkeypatch.setattr(host, 'clean', lambda conf: cloud.clean('host'))
        monkeypatch.setattr(host, 'left', lambda conf: cloud.left())
        monkeypatch.setattr('nova_rt.cmd.manage_base.read_nova_conf', lambda *_: None)
        status = manage.main(['uninstall', *arguments, '-f', 'json'])
        printed = capsys.readouterr()
        return status, json.loads(printed.out or 'null'), printed.err
    return uninstall


def test_where_nothing_is_left_the_status_is_0(run):
    assert run(Cloud(), 'check')[:2] == (0, [])


def test_what_is_left_is_a_row_with_what_removes_it_and_the_status_is_1(run):
    status, (row,), _ = run(Cloud(OURS), 'check')
    assert status == 1
    assert row == {'place': 'cell cell1', 'left': 'generated columns', 'whose': 'nova-rt',
                   'remove it by': 'nova-rt-manage db downgrade'}


def test_what_is_the_operators_may_stay(run):
    status, (row,), _ = run(Cloud(YOURS), 'check')
    assert (status, row['whose']) == (0, 'operator')


def test_check_changes_nothing(run):
    cloud = Cloud()
    run(cloud, 'check')
    run(cloud, 'check', '--host')
    assert cloud.cleaned == []


def test_servers_are_abandoned_only_if_that_is_said(run):
    cloud = Cloud()
    run(cloud, 'clean')
    run(cloud, 'clean', '--abandon')
    run(cloud, 'clean', '--host')
    assert cloud.cleaned == [False, True, 'host']


def test_a_placement_that_does_not_answer_is_a_sentence(run):
    status, _, said = run(Cloud(trouble=ks_exc.ConnectFailure('refused')), 'check')
    assert status == 1
    assert 'Placement cannot be asked: refused' in said
