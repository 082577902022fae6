# SPDX-License-Identifier: Apache-2.0
from unittest import mock

from keystoneauth1 import exceptions as ks_exc
from nova import exception
import pytest

from nova_rt import allocations

HOST, OTHER = 'host', 'other'


def payload(**by_provider):
    """Return what Placement returns for a consumer with these resources."""
    return {
        'allocations': {provider: {'generation': 1, 'resources': resources}
                        for provider, resources in by_provider.items()},
        'project_id': 'p', 'user_id': 'u', 'consumer_generation': 3}


def of_host(share, **others):
    return {'CUSTOM_RT_SHARE': share, **others}


# What server and move have, the server's new share and what the move keeps, and
# what both then have.
TABLE = {
    'grows: the move had the old side': (
        payload(host=of_host(20)), payload(host=of_host(30, VCPU=2)), 50, 0,
        {HOST: of_host(50, VCPU=2)}, {}),
    'shrinks: the move keeps the difference': (
        payload(host=of_host(0, VCPU=2)), payload(host=of_host(50, VCPU=2)),
        30, 20, {HOST: of_host(30, VCPU=2)}, {HOST: of_host(20)}),
    'is taken back: the server has all again': (
        payload(host=of_host(20)), payload(host=of_host(30, VCPU=2, DISK_GB=1)),
        30, 0, {HOST: of_host(30, VCPU=2, DISK_GB=1)}, {}),
    'the most of each resource counts': (
        payload(host=of_host(1, VCPU=1, MEMORY_MB=9)),
        payload(host=of_host(2, VCPU=4, MEMORY_MB=3)), 7, 0,
        {HOST: of_host(7, VCPU=4, MEMORY_MB=9)}, {}),
    'other providers stay as they are': (
        payload(host=of_host(1), other={'NET_BW': 5}), payload(), 2, 0,
        {HOST: of_host(2), OTHER: {'NET_BW': 5}}, {}),
    'a server without an allocation is being deleted': (
        payload(), payload(host=of_host(30, VCPU=2)), 30, 10, {}, {}),
}


@pytest.mark.parametrize('case', TABLE)
def test_what_a_server_and_its_move_have_after_they_were_shared_out(case):
    server, move, share, kept, *expected = TABLE[case]
    assert allocations.shared_out(
        server, move, HOST, share, kept) == tuple(expected)


class Answer:
    """What Placement answers: true if it is not refused."""

    def __init__(self, status_code, text='', body=None):
        self.status_code, self.text, self._body = status_code, text, body

    def __bool__(self):
        return self.status_code < 400

    def json(self):
        return self._body


class Client:
    """Stands in for Nova's client of Placement."""

    def __init__(self, *answers, **consumers):
        self.answers, self.consumers, self.posted = list(answers), consumers, []

    def get_allocs_for_consumer(self, context, consumer):
        return self.consumers[consumer]

    def post(self, url, data, version, global_request_id):
        self.posted.append(data)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    get = post

    def put_allocations(self, context, consumer, body):
        self.posted.append(body)
        return True


class Context:
    global_id = 'req-1'


SERVER, MOVE = payload(host=of_host(20)), payload(host=of_host(30))


def shared_out(*answers, server=SERVER, move=MOVE):
    client = Client(*answers, server=server, move=move)
    placement = allocations.PlacementClient(Context(), client)
    placement.share_out(HOST, 'server', 50, 'move', 0)
    return client.posted


CONCURRENT = Answer(409, 'placement.concurrent_update')


def test_both_consumers_are_changed_in_one_request():
    (body,) = shared_out(Answer(204))
    assert body['server'] == {
        'allocations': {HOST: {'resources': of_host(50)}}, 'project_id': 'p',
        'user_id': 'u', 'consumer_generation': 3}
    assert body['move']['allocations'] == {}


def test_another_process_that_was_faster_is_no_failure():
    assert len(shared_out(CONCURRENT, CONCURRENT, Answer(204))) == 3


def test_after_some_tries_it_is_one():
    with pytest.raises(exception.AllocationUpdateFailed):
        shared_out(*[CONCURRENT] * 10)


def test_a_refusal_is_not_repeated():
    with pytest.raises(exception.AllocationUpdateFailed, match='no room'):
        shared_out(Answer(409, 'no room'), Answer(204))


def test_a_placement_that_does_not_answer_is_said():
    with pytest.raises(exception.PlacementAPIConnectFailure):
        shared_out(ks_exc.ConnectFailure())


def test_where_nobody_has_anything_nothing_is_asked():
    assert shared_out(server=payload(), move=payload()) == []


@pytest.mark.parametrize(('resources', 'share', 'left'), [
    (of_host(20, VCPU=2), 30, {HOST: {'resources': of_host(30, VCPU=2)}}),
    (of_host(20, VCPU=2), 0, {HOST: {'resources': {'VCPU': 2}}}),
    (of_host(20), 0, {}),
])
def test_only_the_share_of_an_allocation_is_set(resources, share, left):
    client = Client(server=payload(host=resources))
    placement = allocations.PlacementClient(Context(), client)
    assert placement.set_share('server', HOST, share)
    assert client.posted[0]['allocations'] == left


@pytest.mark.parametrize('share', [0, 30])
def test_a_consumer_without_an_allocation_can_only_be_set_to_nothing(share):
    client = Client(server=payload())
    placement = allocations.PlacementClient(Context(), client)
    assert placement.set_share('server', HOST, share) == (not share)
    assert client.posted == []


def test_what_cannot_be_given_back_is_left_for_the_next_time(caplog):
    class Away(Client):
        def remove_provider_tree_from_instance_allocation(self, context, consumer, provider):
            raise ks_exc.ConnectFailure('no answer')

    placement = allocations.PlacementClient(Context(), Away())
    assert not placement.try_to_give_back('server', HOST)
    assert 'no answer' in caplog.text


@pytest.mark.parametrize(('answer', 'giving'), [
    (Answer(200, body={'provider_summaries': {HOST: {}}}), {HOST}),
    (Answer(400, 'Invalid resource class'), None)])
def test_who_may_give_all_of_it_is_asked_in_one_question(answer, giving):
    placement = mock.Mock(get=mock.Mock(return_value=answer))
    assert allocations.PlacementClient(mock.Mock(), placement).that_may_give(
        {'VCPU': 2, 'DISK_GB': 0, 'MEMORY_MB': 64}) == giving
    (asked,) = placement.get.call_args_list
    assert asked.args == ('/allocation_candidates?resources=MEMORY_MB:64,VCPU:2',)
