# SPDX-License-Identifier: Apache-2.0
"""``openstack rt defrag``: what is asked for, told, and done when it is stopped."""

import io
from unittest import mock

from osc_lib import exceptions
import pytest

from nova_rt.osc import columns
from nova_rt.osc import defrag
from nova_rt.rest import schemas
from nova_rt.testing import documentation

WEB, DB = '12345678-1234-4234-8234-123456789012', '12345678-1234-4234-8234-123456789013'
HALF = 1 << 19
MOVES = [{'server': WEB, 'name': 'web', 'source': 3, 'target': 1, 'bandwidth': HALF},
         {'server': DB, 'name': '', 'source': 2, 'target': 3, 'bandwidth': HALF >> 1}]
PLAN = {
    'reservation': {'runtime_us': 50_000, 'period_us': 100_000, 'vcpus': 2, 'bandwidth': HALF},
    'moves': MOVES, 'proof': 'No plan has fewer moves.', 'pcpus': [
        {'pcpu': 1, 'capacity': 1 << 20, 'left_before': HALF, 'left_after': 0},
        {'pcpu': 10, 'capacity': 1 << 20, 'left_before': 0, 'left_after': 1 << 20}]}

CPU = 1 << 20
FIGURE_5 = {
    'reservation': {'runtime_us': 75_000, 'period_us': 100_000, 'vcpus': 1,
                    'bandwidth': 75 * CPU // 100},
    'moves': [{'server': '6c2b8b90-03f8-42c8-b9a2-7fdea79a9638', 'name': 'c3', 'source': 3,
               'target': 1, 'bandwidth': 40 * CPU // 100}],
    'proof': 'No plan has fewer moves.', 'pcpus': [
        {'pcpu': pcpu, 'capacity': 95 * CPU // 100, 'left_before': before * CPU // 100,
         'left_after': after * CPU // 100}
        for pcpu, (before, after) in enumerate([(5, 5), (45, 5), (25, 25), (55, 95)])]}


@pytest.fixture
def api():
    """The client of the API, which has a plan and makes every move."""
    return mock.Mock(**{'post.side_effect': answering({})})


def answering(answers):
    """Answer the plan, and moves of these servers as is said here."""
    def post(path, body):
        if path.endswith('/plan'):
            return PLAN
        answer = answers.get(body['server'], {})
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
        parsed = command.get_parser('rt').parse_args(['--host', 'a/b', *arguments])
        return command.take_action(parsed)
    said = run.said = io.StringIO()
    return run


@pytest.mark.parametrize(('arguments', 'body'), [
    ((), {}), (('--max-moves', '3', '--seconds', '9'), {'max_moves': 3, 'seconds': 9}),
    (('--flavor', 'f'), {'flavor': 'f', 'hints': {}}),
    (('--flavor', 'f', '--hint', 'cpu.rt_runtime_us=7'),
     {'flavor': 'f', 'hints': {'cpu.rt_runtime_us': '7'}})])
def test_a_plan_is_asked_for_as_it_is_wanted(run, api, arguments, body):
    run(defrag.Plan, *arguments)
    api.post.assert_called_once_with('/hosts/a%2Fb/plan', body)


@pytest.mark.parametrize('kind', [defrag.Plan, defrag.Run])
def test_hints_need_a_flavor(run, api, kind):
    with pytest.raises(exceptions.CommandError, match='--hint is for a --flavor'):
        run(kind, '--hint', 'a=b')
    api.post.assert_not_called()


def test_the_help_names_the_defaults_of_the_api():
    shown = defrag.Plan(mock.Mock(), None).get_parser('rt').format_help()
    for name, option in (('max_moves', 'moves at most'), ('seconds', 'fewer moves')):
        assert f'{option} (default: {schemas.ROOM["properties"][name]["default"]})' in ' '.join(
            shown.split())


def test_a_plan_is_read_by_people(run):
    told = dict(zip(*run(defrag.Plan), strict=True))
    assert told['moves'].human_readable().splitlines() == [
        '1. web 50%: pCPU 3 to 1', f'2. {DB} 25%: pCPU 2 to 3']
    assert told['pcpus'].human_readable().splitlines() == [
        'pCPU 1   left    50%, then     0%', 'pCPU 10  left     0%, then   100%']
    assert (told['host'], told['vcpus'], told['proof']) == (
        'a/b', 2, 'No plan has fewer moves.')
    assert told['bandwidth'].human_readable() == '50%'


def test_a_plan_is_complete_for_programs(run):
    told = dict(zip(*run(defrag.Plan), strict=True))
    assert told['moves'].machine_readable() == [
        {**MOVES[0], 'bandwidth': 0.5}, {**MOVES[1], 'bandwidth': 0.25}]
    assert told['pcpus'].machine_readable() == [
        {'pcpu': 1, 'capacity': 1.0, 'left_before': 0.5, 'left_after': 0.0},
        {'pcpu': 10, 'capacity': 1.0, 'left_before': 0.0, 'left_after': 1.0}]


def test_a_balance_is_for_no_reservation(run, api):
    api.post.side_effect = lambda path, body: {**PLAN, 'reservation': None}
    told = dict(zip(*run(defrag.Plan), strict=True))
    assert (told['bandwidth'], told['vcpus']) == (None, None)


def test_moves_are_made_in_their_order_and_told_one_by_one(run, api):
    names, rows = run(defrag.Run)
    assert api.post.call_args_list[1:] == [
        mock.call('/hosts/a%2Fb/moves', {'server': WEB, 'source': 3, 'target': 1}),
        mock.call('/hosts/a%2Fb/moves', {'server': DB, 'source': 2, 'target': 3})]
    assert run.said.getvalue().splitlines() == [
        '2 moves. No plan has fewer moves.', '1. web 50%: pCPU 3 to 1',
        f'2. {DB} 25%: pCPU 2 to 3']
    assert names == ('server', 'name', 'source', 'target', 'bandwidth')
    assert [row[:4] for row in rows] == [(WEB, 'web', 3, 1), (DB, '', 2, 3)]
    assert isinstance(rows[0][4], columns.Share)


def test_where_there_is_room_nothing_is_moved(run, api):
    api.post.side_effect = lambda path, body: {
        **PLAN, 'moves': [], 'proof': 'There is room already.'}
    assert run(defrag.Run, '--flavor', 'f')[1] == []
    api.post.assert_called_once()
    assert run.said.getvalue() == '0 moves. There is room already.\n'


def test_a_move_that_is_refused_ends_it(run, api):
    api.post.side_effect = answering({DB: exceptions.CommandError('No room. (HTTP 409)')})
    with pytest.raises(exceptions.CommandError) as stopped:
        run(defrag.Run)
    assert str(stopped.value) == (
        f'1 of 2 moves made, then {DB} 25%: pCPU 2 to 3 was refused. No room. (HTTP 409) '
        'Run this again to go on with a new plan.')
    assert '1. web' in run.said.getvalue()


def test_an_interruption_says_what_is_made_and_passes(run, api):
    api.post.side_effect = answering({WEB: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        run(defrag.Run)
    assert run.said.getvalue().splitlines()[-1] == (
        '0 of 2 moves made; web 50%: pCPU 3 to 1 is made or not, never in part.')
    assert len(api.post.call_args_list) == 2


@pytest.mark.parametrize(('kind', 'start'), [
    (defrag.Plan, 'openstack rt defrag plan'), (defrag.Run, 'openstack rt defrag run')])
def test_the_page_shows_what_is_printed(api, kind, start):
    page = 'doc/source/operator/making-room.rst'
    shown, = (command for command in documentation.commands(page)
              if command.text.startswith(start) and '--between-hosts' not in command.text)
    api.post.side_effect = lambda path, body: FIGURE_5
    printed = io.StringIO()
    command = kind(mock.Mock(stdout=printed, stderr=printed), None)
    command.app.client_manager.rt = api
    assert command.run(command.get_parser('rt').parse_args(shown.text.split()[4:])) == 0
    assert printed.getvalue().splitlines() == [*shown.output]
