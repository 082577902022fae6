# SPDX-License-Identifier: Apache-2.0
"""What a server's compute node may answer, as one sentence each."""

from unittest import mock

from nova import exception
from nova import objects
import oslo_messaging
import pytest

from nova_rt.instance import compute_call

objects.register_all()


@pytest.fixture
def client(monkeypatch):
    """What the message goes to; its method ``call`` is the compute node's."""
    client = mock.Mock()
    monkeypatch.setattr(compute_call.rpcapi, 'ComputeAPI', lambda: mock.Mock(**{
        'router.client.return_value.prepare': client.prepare}))
    return client


def call(host='compute-7'):
    compute_call.call(mock.sentinel.cell, objects.Instance(host=host), 'move_vcpu',
                      'look again', 'within a minute', source=1, target=2)


def test_the_servers_host_is_asked(client):
    call()
    assert client.prepare.call_args.kwargs['server'] == 'compute-7'
    (asked,) = client.prepare.return_value.call.call_args_list
    assert asked.args == (mock.sentinel.cell, 'move_vcpu')
    assert (asked.kwargs['source'], asked.kwargs['target']) == (1, 2)


@pytest.mark.parametrize(('answer', 'sentence'), [
    (exception.MigrationError(reason='pCPU 2 has no room'),
     'The server stays as it was: pCPU 2 has no room.'),
    (exception.ResizeError(reason='there is no room'),
     'The server stays as it was: there is no room.'),
    (exception.MigrationError('Nobody knows.'), 'Nobody knows.')])
def test_a_refusal_says_that_nothing_was_changed_and_why(client, answer, sentence):
    client.prepare.return_value.call.side_effect = answer
    with pytest.raises(compute_call.RefusedError) as refused:
        call()
    assert str(refused.value) == sentence
    assert not isinstance(refused.value, compute_call.UnansweredError)


@pytest.mark.parametrize(('answer', 'words'), [
    (oslo_messaging.MessagingTimeout(), 'does not answer: look again.'),
    (oslo_messaging.MessageDeliveryFailure(), 'does not answer: look again.'),
    (oslo_messaging.RemoteError('KeyError'), r'could not do it \(KeyError\): see its log'),
    (exception.HypervisorUnavailable(), r'could not do it \(HypervisorUnavailable\): see'),
    (type('DiskNotFound_Remote', (exception.NovaException,), {})(),
     r'could not do it \(DiskNotFound\): see its log')])
def test_who_does_not_answer_is_named(client, answer, words):
    client.prepare.return_value.call.side_effect = answer
    with pytest.raises(
            compute_call.UnansweredError, match=f'^nova-rt-compute on compute-7 {words}'):
        call()


def test_a_server_that_has_gone_is_told_as_that(client):
    client.prepare.return_value.call.side_effect = exception.InstanceNotFound(instance_id='u')
    with pytest.raises(exception.InstanceNotFound):
        call()


def test_who_shows_nothing_has_nothing_to_undo(client):
    client.prepare.return_value.call.side_effect = oslo_messaging.RemoteError('KeyError')
    with pytest.raises(compute_call.UnansweredError, match=r'if it is older than this\.$'):
        compute_call.call(mock.sentinel.cell, objects.Instance(host='compute-7'),
                          'reservation_usage', 'look again')


def test_what_the_host_answers_is_returned(client):
    client.prepare.return_value.call.return_value = [{'pcpu': 1}]
    assert compute_call.call(mock.sentinel.cell, objects.Instance(host='compute-7'),
                             'reservation_usage', 'look again') == [{'pcpu': 1}]


def test_a_server_without_a_host_asks_nobody(client):
    with pytest.raises(compute_call.RefusedError, match='on no host'):
        call(host=None)
    client.prepare.assert_not_called()


def test_what_is_not_known_is_told_as_the_host_says_it(client):
    client.prepare.return_value.call.side_effect = exception.InternalError(err='Who knows.')
    with pytest.raises(compute_call.UnansweredError, match=r'^Who knows\.$'):
        call()
