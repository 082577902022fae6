# SPDX-License-Identifier: Apache-2.0
"""``openstack rt defrag --between-hosts``: what is asked for, told, and done when it is stopped."""

import io
from unittest import mock

from osc_lib import exceptions
import pytest

from nova_rt.osc import between
from nova_rt.osc import client
from nova_rt.osc import defrag
from nova_rt.rest import schemas
from nova_rt.testing import documentation

WEB = '12345678-1234-4234-8234-123456789012'
CPU = 1 << 20


def pcpus(*pairs):
    return [{'pcpu': pcpu, 'capacity': 95 * CPU // 100, 'left_before': before * CPU // 100,
             'left_after': after * CPU // 100} for pcpu, (before, after) in enumerate(pairs)]


PLAN = {
    'reservation': {'runtime_us': 90_000, 'period_us': 100_000, 'vcpus': 1,
                    'bandwidth': 90 * CPU // 100},
    'host': 'compute-1', 'cost': 1089, 'proof': 'No plan costs less.',
    'steps': [
        {'step': 'move', 'server': WEB, 'name': 'arm', 'bandwidth': 20 * CPU // 100,
         'host': 'compute-3', 'target_host': None, 'memory_mb': None, 'source': 0, 'target': 1},
        {'step': 'migration', 'server': WEB, 'name': 'web', 'bandwidth': 40 * CPU // 100,
         'host': 'compute-1', 'target_host': 'compute-3', 'memory_mb': 64, 'source': None,
         'target': None}],
    'hosts': [{'host': 'compute-1', 'pcpus': pcpus((55, 95), (25, 25))},
              {'host': 'compute-3', 'pcpus': pcpus((30, 10), (45, 25))}]}
GOING = {'server': WEB, 'host': 'compute-1', 'under_way': True, 'target': 'compute-3',
         'status': 'running', 'reason': ''}
OVER = {**GOING, 'host': 'compute-3', 'under_way': False, 'status': 'completed'}


@pytest.fixture
def api(monkeypatch):
    """The client of the API, whose migrations are over at the second look."""
    monkeypatch.setattr(between.time, 'sleep', mock.Mock())
    return mock.Mock(**{'post.side_effect': answering({}), 'get.side_effect': [GOING, OVER]})


def answering(answers):
    def post(path, body):
        answer = answers.get(path, PLAN if path == '/plan' else GOING)
        if isinstance(answer, BaseException):
            raise answer
        return answer
    return post


@pytest.fixture
def run(api):
    """Run a command; return what it returns, and what it said."""
    def run(kind, *arguments):
        command = kind(mock.Mock(stderr=said), None)
        command.app.client_manager.rt = api
        return command.take_action(command.get_parser('rt').parse_args(
            ['--between-hosts', *(arguments or ('--flavor', 'f'))]))
    said = run.said = io.StringIO()
    return run


@pytest.mark.parametrize(('arguments', 'body'), [
    ((), {}), (('--host', 'a', '--max-moves', '3', '--max-migrations', '2', '--seconds', '9'),
               {'host': 'a', 'max_moves': 3, 'max_migrations': 2, 'seconds': 9})])
def test_a_plan_is_asked_for_as_it_is_wanted(run, api, arguments, body):
    run(defrag.Plan, '--flavor', 'f', *arguments)
    api.post.assert_called_once_with('/plan', {'flavor': 'f', 'hints': {}, **body})


def test_a_balance_is_of_one_host(run, api):
    with pytest.raises(exceptions.CommandError, match='makes room for a --flavor'):
        run(defrag.Plan, '--host', 'a')
    api.post.assert_not_called()


@pytest.mark.parametrize(('arguments', 'words'), [
    ((), 'Which host'), (('--host', 'a', '--max-migrations', '1'), 'is for --between-hosts')])
def test_without_the_option_one_host_is_meant(api, arguments, words):
    command = defrag.Plan(mock.Mock(), None)
    parsed = command.get_parser('rt').parse_args(list(arguments))
    with pytest.raises(exceptions.CommandError, match=words):
        command.take_action(parsed)


def test_the_help_names_the_default_of_the_api():
    shown = defrag.Plan(mock.Mock(), None).get_parser('rt').format_help()
    default = schemas.ROOM_BETWEEN['properties']['max_migrations']['default']
    assert f'with --between-hosts (default: {default})' in ' '.join(shown.split())


def test_a_plan_is_complete_for_programs(run):
    told = dict(zip(*run(defrag.Plan), strict=True))
    assert [step['bandwidth'] for step in told['steps'].machine_readable()] == [
        pytest.approx(0.2, abs=1e-5), pytest.approx(0.4, abs=1e-5)]
    assert told['hosts'].machine_readable()[0]['pcpus'][0]['left_after'] == pytest.approx(
        0.95, abs=1e-5)


def test_steps_are_made_in_their_order_and_waited_for(run, api):
    names, rows = run(defrag.Run)
    assert api.post.call_args_list[1:] == [
        mock.call('/hosts/compute-3/moves', {'server': WEB, 'source': 0, 'target': 1}),
        mock.call(f'/servers/{WEB}/migration', {'source': 'compute-1', 'target': 'compute-3'})]
    assert api.get.call_count == 2
    assert run.said.getvalue().splitlines() == [
        '2 steps to room on compute-1. No plan costs less.',
        '1. compute-3: arm 20%: pCPU 0 to 1', '2. web 40%, 64 MiB: compute-1 to compute-3']
    assert [dict(zip(names, row, strict=True))['target_host'] for row in rows] == [
        None, 'compute-3']


@pytest.mark.parametrize(('over', 'reason'), [
    ({'reason': 'No room on compute-3.'}, 'No room on compute-3.'),
    ({'status': 'failed'}, 'The server is on compute-1, and its migration is failed.'),
    ({'status': None}, 'its migration is not to be found.')])
def test_a_migration_that_fails_ends_it(run, api, over, reason):
    api.get.side_effect = [{**GOING, 'under_way': False, **over}]
    with pytest.raises(exceptions.CommandError) as stopped:
        run(defrag.Run)
    assert str(stopped.value).startswith(
        '1 of 2 steps made, then "web 40%, 64 MiB: compute-1 to compute-3" was refused or failed.')
    assert reason in str(stopped.value)
    assert str(stopped.value).endswith('Run this again to go on with a new plan.')


def test_what_is_not_known_is_said_to_be_so(run, api):
    api.post.side_effect = answering({
        '/hosts/compute-3/moves': client.UndecidedError('No answer. (HTTP 503)')})
    with pytest.raises(exceptions.CommandError, match='0 of 2 steps made; whether "compute-3: '
                                                      'arm 20%: pCPU 0 to 1" was, too, is not'):
        run(defrag.Run)


def test_looks_that_fail_do_not_end_it_until_they_are_many(run, api):
    failed = client.UndecidedError('No answer. (HTTP 503)')
    api.get.side_effect = [failed, failed, GOING, failed, OVER]
    assert len(run(defrag.Run)[1]) == 2
    api.get.side_effect = failed
    with pytest.raises(exceptions.CommandError, match='1 of 2 steps made; whether "web 40%'):
        run(defrag.Run)
    assert api.get.call_count == 5 + between.LOOKS + 1


def test_once_a_minute_it_says_what_it_waits_for(run, api):
    api.get.side_effect = [*[GOING] * 2 * between.LOOKS, OVER]
    run(defrag.Run)
    assert between.LOOKS * between.INTERVAL_S == 60
    assert run.said.getvalue().splitlines()[2:-1] == [
        'Waiting for the migration of web, which is running.'] * 2


def test_an_interruption_says_that_nova_goes_on_and_passes(run, api):
    api.get.side_effect = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        run(defrag.Run)
    assert 'ends by itself' in run.said.getvalue().splitlines()[-1]


def test_the_page_shows_what_is_printed(api):
    shown, = (command for command in documentation.commands(
        'doc/source/operator/making-room.rst') if '--between-hosts' in command.text)
    printed = io.StringIO()
    command = defrag.Plan(mock.Mock(stdout=printed, stderr=printed), None)
    command.app.client_manager.rt = api
    assert command.run(command.get_parser('rt').parse_args(shown.text.split()[4:])) == 0
    assert printed.getvalue().splitlines() == [*shown.output]
