# SPDX-License-Identifier: Apache-2.0
"""The pages of hosts, rendered by Horizon."""

import contextlib
import socket

import pytest

from horizon_rt.tests.pages import told

INDEX = '/admin/real_time/'


def test_the_index_lists_hosts_projects_and_flavors(admin, full):
    page = admin.get(INDEX)
    assert page.status_code == 200
    text = page.content.decode()
    for expected in ('compute-1', 'deadline', '95%', '190%', '40%', 'customer', 'rt1',
                     '30000 µs every 100000 µs on 2 vCPUs, each: 30% of a pCPU'):
        assert expected in text


@pytest.mark.parametrize('page', ['', 'hosts/compute-1/', 'flavors/f1/'])
def test_who_is_no_administrator_sees_no_page_of_it(log_in, full, page):
    assert log_in('member').get(INDEX + page).status_code == 403
    assert not [path for _, path, *_ in full.asked if path.startswith(('/rt', '/compute'))]


def test_a_host_has_a_bar_for_each_pcpu_with_names(admin, full):
    text = admin.get(f'{INDEX}hosts/compute-1/').content.decode()
    assert text.count('class="real-time-pcpu"') == 2
    assert '<strong>pCPU 0</strong>' in text
    assert '<p>web 30%, left 65%, cap 95%</p>' in text
    assert '<p>web 30%, others 10%, left 55%, cap 95%</p>' in text


def test_the_tokens_of_the_session_are_used_and_no_other(admin, full):
    admin.get(INDEX)
    assert {headers.get('X-Auth-Token') for _, path, headers, _ in full.asked
            if path.startswith('/rt/')} == {'the-token'}


def test_names_are_shown_as_they_are_written(admin, full):
    told.host(full, name='<script>alert(1)</script>{$7*7$}')
    text = admin.get(f'{INDEX}hosts/compute-1/').content.decode()
    assert '<script>alert(1)' not in text
    assert '&lt;script&gt;alert(1)' in text
    # Horizon's AngularJS would compute what stands in these braces.
    assert '{$7*7$}' not in text


@pytest.mark.parametrize(('status', 'sentence'), [
    (403, 'Your roles do not allow rt:hosts:list.'),
    (406, 'The newest version is 1.3.'),
    (503, 'The database does not answer.')])
def test_a_refusal_is_its_sentence_in_the_page(admin, full, status, sentence):
    full.refuses('GET', '/rt/hosts', status, sentence)
    page = admin.get(INDEX)
    assert page.status_code == 200
    text = page.content.decode()
    assert f'id="hosts-trouble">{sentence}' in text
    # The other parts are shown.
    assert 'customer' in text


@pytest.mark.parametrize(('body', 'kind'), [
    ('<html>It works</html>', 'text/html'), ('{}', 'application/json'),
    ('[1]', 'application/json'), ('{"hosts": [7], "next": null, "unreachable_cells": []}',
                                  'application/json')])
@pytest.mark.logged
def test_what_is_not_nova_rt_is_called_so(admin, full, body, kind):
    full.says('GET', '/rt/hosts', body, kind=kind)
    page = admin.get(INDEX)
    assert page.status_code == 200
    assert 'in the service catalogue is something else' in page.content.decode()


def test_an_api_that_is_away_is_a_sentence(log_in, full):
    # Nothing listens on this port.
    admin = log_in('admin', rt='http://127.0.0.1:9/rt')
    for path in (INDEX, f'{INDEX}hosts/compute-1/'):
        page = admin.get(path)
        assert page.status_code == 200
        assert 'The API of nova-rt does not answer at the address' in page.content.decode()


@pytest.mark.parametrize('status', [401, 404, 503])
def test_an_address_where_there_is_nothing_is_a_sentence(admin, full, status):
    full.says('GET', '/rt', '<html>No</html>', status, 'text/html')
    page = admin.get(INDEX)
    assert page.status_code == 200
    assert 'at the address in the service catalogue: try again later' in page.content.decode()


def test_an_error_page_of_a_proxy_is_not_shown(admin, full):
    full.says('GET', '/rt/hosts', '<html><b>502</b> Bad Gateway nginx</html>', 502, 'text/html')
    text = admin.get(INDEX).content.decode()
    assert 'The API of nova-rt has failed to answer' in text
    assert 'nginx' not in text


def test_an_expired_token_does_not_log_out_without_a_word(admin, full):
    full.says('GET', '/rt/hosts', {'error': {'message': 'Unauthorized'}}, 401)
    page = admin.get(INDEX)
    assert page.status_code == 200
    assert 'Your session has expired' in page.content.decode()


def test_a_cell_without_answer_is_named(admin, full):
    full.says('GET', '/rt/hosts', {'hosts': [], 'next': None, 'unreachable_cells': ['cell1']})
    assert 'no answer came from the database of cell1' in admin.get(INDEX).content.decode()


def test_an_unknown_host_is_a_sentence(admin, full):
    full.refuses('GET', '/rt/hosts/nowhere', 404, 'There is no host nowhere.')
    page = admin.get(f'{INDEX}hosts/nowhere/')
    assert page.status_code == 200
    assert 'There is no host nowhere.' in page.content.decode()


def test_the_menu_has_no_panel_without_the_api(log_in, full):
    text = log_in('admin', rt=None).get('/admin/flavors/').content
    assert b'/admin/real_time/' not in text
    assert b'/admin/real_time/' in log_in('admin').get('/admin/flavors/').content


def test_an_empty_cloud_says_so(admin, cloud):
    told.nothing(cloud)
    text = admin.get(INDEX).content.decode()
    for expected in ('There is no compute host.', 'None waits.', 'No project holds a reservation.'):
        assert expected in text


def test_flavors_are_asked_for_at_once(admin, full):
    told.flavor(full, {})
    admin.get(INDEX)
    assert [path for _, path, *_ in full.asked if 'flavors' in path] == [
        '/compute/flavors/detail']


def test_an_api_that_hangs_is_waited_for_once(log_in, full, monkeypatch):
    # Whatever is asked of it, it does not answer.
    monkeypatch.setattr('horizon_rt.client.PATIENCE_S', 1)
    with socket.create_server(('127.0.0.1', 0)) as silent:
        admin = log_in('admin', rt=f'http://127.0.0.1:{silent.getsockname()[1]}/rt')
        text = admin.get(INDEX).content.decode()
        silent.setblocking(False)
        taken = 0
        with contextlib.suppress(BlockingIOError):
            while silent.accept():
                taken += 1
    assert taken == 1
    assert text.count('The API of nova-rt does not answer at the address') == 4
