# SPDX-License-Identifier: Apache-2.0
"""How the API finds an endpoint, and what it refuses by itself."""

from unittest import mock

from keystoneauth1 import exceptions as ks_exc
from oslo_db import exception as db_exc
import pytest
import webob

from nova_rt.rest import application
from nova_rt.rest import endpoints

ANY = {'type': 'object'}
NAME = {'type': 'string', 'maxLength': 9}


@pytest.fixture
def handle():
    return mock.Mock(return_value={'told': 'all'})


@pytest.fixture
def policy():
    return mock.Mock(**{'allows.return_value': True})


@pytest.fixture
def ask(handle, policy):
    """Send a request to an API of two endpoints; return the answer."""
    app = application.Application((
        endpoints.Endpoint('GET', '/things/{name}', handle, 'rule:get', 'Get', ANY, query={
            'limit': {'type': 'integer', 'minimum': 1, 'default': 7}, 'of': NAME}),
        endpoints.Endpoint('POST', '/things', handle, 'rule:post', 'Post', ANY, body={
            'type': 'object', 'required': ['name'], 'properties': {'name': NAME}}),
        endpoints.Endpoint('GET', '/later', handle, 'rule:get', 'Get', ANY, since='1.1'),
    ), policy)

    def send(path, **kwargs):
        request = webob.Request.blank(path, **kwargs)
        request.environ['nova.context'] = mock.sentinel.context
        return request.get_response(app)
    return send


def refusal(answer):
    (refused,) = answer.json['errors']
    assert refused['status'] == answer.status_int
    assert '\n' not in refused['detail']
    return answer.status_int, refused['detail']


def test_the_handler_gets_what_path_and_query_name(ask, handle):
    answer = ask('/things/%C3%A9t%C3%A9?of=x')
    assert (answer.status_int, answer.json) == (200, {'told': 'all'})
    (call,) = handle.call_args.args
    assert (call.named, call.query) == ({'name': 'été'}, {'limit': 7, 'of': 'x'})


def test_the_handler_gets_the_body(ask, handle):
    assert ask('/things', POST=b'{"name": "a"}', method='POST',
               content_type='application/json').status_int == 200
    assert handle.call_args.args[0].body == {'name': 'a'}


@pytest.mark.parametrize(('path', 'status', 'words'), [
    ('/', 404, 'nothing at this path'),
    ('/things/a/b', 404, 'nothing at this path'),
    ('/things/a%00', 404, 'nothing at this path'),
    ('/things', 405, 'has no GET: use POST'),
    ('/things/%ff', 400, 'not UTF-8'),
    ('/things/a?of=%ff', 400, 'not UTF-8'),
    ('/things/a?by=1', 400, "no parameter 'by' here; known: limit, of"),
    ('/things/a?of=1&of=2', 400, 'given twice'),
    ('/things/a?limit=0', 400, 'parameter limit: 0 is less than the minimum'),
    ('/things/a?limit=x', 400, "'x' is not of type 'integer'"),
    ('/things/a?limit=' + '9' * 5000, 400, "is not of type 'integer'"),
    ('/things/a?of=' + 'x' * 5000, 400, 'In the parameter of'),
])
def test_a_wrong_url_is_one_sentence(ask, handle, path, status, words):
    told = refusal(ask(path))
    assert told[0] == status
    assert words in told[1]
    assert len(told[1]) < 300
    handle.assert_not_called()


@pytest.mark.parametrize(('body', 'words'), [
    (b'', 'not valid JSON'), (b'{', 'not valid JSON'), (b'\xff', 'not valid JSON'),
    (b'[' * 100_000, 'not valid JSON'), (b'{"name": "\\ud800"}', 'not valid JSON'),
    (b'[]', "[] is not of type 'object'"), (b'{}', "'name' is a required property"),
    (b'{"name": 1}', "In the body, name: 1 is not of type 'string'")])
def test_a_wrong_body_is_one_sentence(ask, handle, body, words):
    status, sentence = refusal(ask(
        '/things', method='POST', body=body, content_type='application/json'))
    assert status == 400
    assert words in sentence
    handle.assert_not_called()


def test_a_body_that_is_not_json_by_its_header_is_refused(ask):
    status, sentence = refusal(ask(
        '/things', method='POST', body=b'{}', content_type='text/plain'))
    assert status == 415
    assert 'application/json' in sentence


@pytest.mark.parametrize(('version', 'status'), [('1.0', 406), ('1.1', 200), ('latest', 200)])
def test_an_older_version_has_not_what_came_later(ask, version, status):
    answer = ask('/later', headers={'OpenStack-API-Version': f'rt {version}'})
    assert answer.status_int == status
    if status != 200:
        assert 'GET of this path came with version 1.1: ask for it' in refusal(answer)[1]


def test_who_may_not_is_refused_whatever_the_request_is(ask, policy, handle):
    policy.allows.return_value = False
    assert refusal(ask('/things/a?by=1')) == (
        403, 'Your roles do not allow rule:get in this scope.')
    policy.allows.assert_called_once_with(mock.sentinel.context, 'rule:get')


@pytest.mark.parametrize(('error', 'words'), [
    (db_exc.DBConnectionError(), 'databases does not answer'),
    (ks_exc.ConnectFailure(), 'Placement does not answer')])
def test_what_does_not_answer_is_one_sentence(ask, handle, error, words):
    handle.side_effect = error
    status, sentence = refusal(ask('/things/a'))
    assert status == 503
    assert words in sentence
