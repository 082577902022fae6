# SPDX-License-Identifier: Apache-2.0
"""Our part in heat-translator, on descriptors that nobody here wrote.

Compared with a Python that has the same releases without nova-rt. FULL=1 takes
those of tosca-parser and Tacker too.
"""

from pathlib import Path
import sys

import pytest

from nova_rt.testing import full
from tacker_rt import profile
from tacker_rt.tests import corpus
from tacker_rt.tests import upstream

NAMES = list(upstream.RELEASES) if full.WANTED else ['heat-translator']


@pytest.fixture(scope='module', params=NAMES)
def work(request, tmp_path_factory):
    """Return descriptors, and what is made of them without us."""
    files = corpus.copied(request.param, tmp_path_factory.mktemp('corpus'))
    return files, corpus.translated(upstream.without_us(), files)


def without_our_version(result):
    """Take our profile out of the list that an error of a version has."""
    if 'error' not in result:
        return result
    return {'error': result['error'].replace(
        f'", "{profile.VERSION}', '')}


def test_what_is_translated_without_us_is_translated_alike(work):
    files, theirs = work
    ours = corpus.translated(sys.executable, files)
    assert {path: without_our_version(each)
            for path, each in ours.items()} == theirs
    done = [each for each in theirs.values() if 'templates' in each]
    assert done
    print(f'{len(files)} descriptors, {len(done)} translated, all alike')


def test_every_server_of_them_can_have_a_reservation(work):
    _, theirs = work
    servers = {
        corpus.with_reservations(Path(path), each['servers']):
        each['servers'] for path, each in theirs.items()
        if each.get('servers')}
    ours = corpus.translated(sys.executable, servers)
    lost = [path for path, names in servers.items()
            if 'error' in ours[str(path)]
            or not corpus.carried(ours[str(path)], names)]
    assert servers
    assert not lost, ours[str(lost[0])]
    print(f'{len(servers)} descriptors with '
          f'{sum(map(len, servers.values()))} servers, all carried')
