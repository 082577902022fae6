# SPDX-License-Identifier: Apache-2.0
"""What a container's root can reach that is not the host's root."""

import errno

import pytest

from demo import hcbs
from nova_rt.testing import full
from stack import prerequisites
from stack.nodes import alone

pytestmark = full.only

MAY = ('fifo', 'round-robin')
MAY_NOT = (
    'above-limit', 'raise-limit', 'deadline', 'nice', 'remount-writable', 'mount-version-1',
    'runtimes', 'runtime', 'no-runtime', 'period', 'maximum', 'weight', 'pcpus', 'all-pcpus',
    'freeze', 'clone-above', 'larger-subgroup', 'admission-off', 'less-for-all', 'debugfs',
    'interrupts', 'kernel-work', 'pcpu-offline', 'memory-device', 'first-program',
    'kernel-program')
# Allowed, as it shows and moves nothing that is not the container's own.
HARMLESS = ('mount-groups', 'leave')


@pytest.fixture(scope='module')
def result(tmp_path_factory):
    """What the container tried, and what became of it."""
    if reason := prerequisites.missing_for_nodes():
        pytest.skip(reason)
    return alone.attempts(tmp_path_factory.mktemp('a'))


@pytest.fixture(scope='module')
def errnos(result):
    """The outcome of each attempt."""
    return {name: int(number) for name, number in
            (line.split() for line in result['attempts'].splitlines())}


@pytest.mark.parametrize('name', MAY)
def test_a_policy_up_to_the_limit_is_granted(errnos, name):
    assert errnos[name] == 0


@pytest.mark.parametrize('name', MAY_NOT)
def test_an_attempt_to_take_more_or_to_do_harm_fails(errnos, name):
    assert errnos[name] != 0, 'it succeeded'
    assert errnos[name] not in (errno.ENOSYS, errno.ENOENT), 'there is no such thing here'


def test_all_attempts_were_made(errnos):
    assert set(errnos) == {*MAY, *MAY_NOT, *HARMLESS}


def test_no_limit_of_any_group_has_changed(result):
    assert result['limits after'] == result['limits before']
    assert result['admission'] == '950000\n'
    assert result['online'] == '0-3\n'


def test_no_process_of_a_container_is_in_another_group(result):
    groups = sorted(container['group'] for container in result['containers'].values())
    assert result['groups'] == [[group] for group in groups]


def test_container_and_neighbour_get_what_is_reserved_on_their_pcpus(result):
    containers = result['containers'].values()
    assert len(containers) == 2
    for container in containers:
        reserved = [runtime_us / container['period_us']
                    for runtime_us in container['runtimes_us']]
        assert sorted(reserved) == [0, 0, 0.3, 0.3]
        assert container['shares'] == pytest.approx(reserved, abs=hcbs.EXACT)
        assert len(container['pcpus']) == 2
