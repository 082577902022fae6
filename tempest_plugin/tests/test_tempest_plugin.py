# SPDX-License-Identifier: Apache-2.0
"""The tempest plug-in as tempest finds it."""

import importlib.metadata
import pathlib
import re

from nova_rt_tempest_plugin import tacker
from oslo_config import cfg
from tempest.lib.common import rest_client

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENTED = ROOT / 'doc/source/operator/tempest.rst'


def plugin():
    entry_point, = importlib.metadata.entry_points(
        group='tempest.test_plugins', name='nova_rt')
    return entry_point.load()()


def test_tempest_finds_the_tests_where_the_plug_in_says():
    tests, top = map(pathlib.Path, plugin().load_tests())
    assert tests.is_relative_to(top)
    assert len(list(tests.rglob('test_*.py'))) >= 6


def test_its_options_can_be_registered_and_are_listed():
    conf = cfg.ConfigOpts()
    plugin().register_opts(conf)
    conf([])
    (group, options), = plugin().get_opt_lists()
    assert {option.name for option in options} == {*conf[group]}


def test_every_test_has_an_id_of_its_own():
    tests, _ = map(pathlib.Path, plugin().load_tests())
    text = '\n'.join(path.read_text() for path in tests.rglob('test_*.py'))
    ids = re.findall(r"idempotent_id\('([0-9a-f-]{36})'\)", text)
    assert len(ids) == len({*ids}) == text.count('    def test_')


def test_every_option_is_documented():
    (_, options), = plugin().get_opt_lists()
    page = DOCUMENTED.read_text()
    for option in options:
        assert f'``{option.name}``' in page


class Answer(dict):
    """What tempest's HTTP client returns beside the body."""

    status = 201


def test_tackers_client_asks_as_tempests_own_clients_do(monkeypatch):
    requests = []

    class Provider:
        def auth_request(self, method, url, headers, body, filters):
            return f'http://tacker{url}', headers, body

    def raw_request(client, url, method, headers, body, chunked, **more):
        requests.append((method, url, headers['Version'], body))
        return Answer(status='201'), '{"id": "package"}'
    monkeypatch.setattr(rest_client.RestClient, 'raw_request', raw_request)
    client = tacker.Client(Provider(), 'nfv-orchestration', 'RegionOne')
    assert client.create_package() == 'package'
    assert requests == [
        ('POST', f'http://tacker{tacker.PACKAGES}', '2.0.0', '{}')]
