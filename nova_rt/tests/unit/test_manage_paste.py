# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage paste."""

import pytest

from nova_rt.cmd import manage

LINE = 'keystone = authtoken keystonecontext {}osapi_compute_app_v21\n'
BEFORE = ('[composite:osapi_compute]\nuse = call:urlmap_factory\n/: versions\n\n'
          '[composite:openstack_compute_api_v21]\n' + LINE.format(''))


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch):
    """The commands read no nova.conf, which can be read but once."""
    monkeypatch.setattr(
        'nova_rt.cmd.manage_base.read_nova_conf', lambda *_: None)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'api-paste.ini'
    path.write_text(BEFORE)
    path.chmod(0o640)
    return path


def test_filter_and_api_are_added_and_removed(file):
    assert manage.main(['paste', 'add', str(file)]) == 0
    assert LINE.format('rt_reservations ') in file.read_text()
    assert '/rt/+: rt_api\n' in file.read_text()
    assert manage.main(['paste', 'remove', str(file)]) == 0
    assert file.read_text() == BEFORE


def test_the_file_keeps_its_mode(file):
    manage.main(['paste', 'add', str(file)])
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_file_of_another_service_is_left_as_it_is(file, capsys):
    file.write_text('[app:x]\n')
    assert manage.main(['paste', 'add', str(file)]) == 1
    assert file.read_text() == '[app:x]\n'
    assert 'give the api-paste.ini of nova-api' in capsys.readouterr().err


def test_a_file_that_is_not_there_is_a_sentence(tmp_path, capsys):
    assert manage.main(['paste', 'add', str(tmp_path / 'none')]) == 1
    assert 'No such file' in capsys.readouterr().err
