# SPDX-License-Identifier: Apache-2.0
"""What is built twice is the same."""

import gzip
import importlib.machinery
import importlib.util
import io
import pathlib
import tarfile

import pytest

PATH = pathlib.Path(__file__).parents[1] / 'build-dist'


@pytest.fixture(scope='module')
def build_dist():
    loader = importlib.machinery.SourceFileLoader('build_dist', str(PATH))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('build_dist', loader))
    loader.exec_module(module)
    return module


def sdist(mtime, uid, names=('a/x', 'a/y')):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode='w') as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uid = len(name), mtime, uid
            archive.addfile(member, io.BytesIO(name.encode()))
    return gzip.compress(plain.getvalue(), mtime=int(mtime))


def test_sdists_of_different_moments_and_users_become_the_same(build_dist):
    settled = build_dist.settled(sdist(1.5, 0), 7)
    assert settled == build_dist.settled(sdist(2.5, 1000, ('a/y', 'a/x')), 7)
    with tarfile.open(fileobj=io.BytesIO(settled)) as archive:
        assert [(member.name, member.mtime, archive.extractfile(member).read())
                for member in archive] == [('a/x', 7, b'a/x'), ('a/y', 7, b'a/y')]


def test_an_sdist_with_another_content_stays_another(build_dist):
    assert build_dist.settled(sdist(1, 0), 7) != build_dist.settled(sdist(1, 0, ('a/x',)), 7)


def test_what_differs_or_is_missing_is_named(build_dist, tmp_path):
    for folder, contents in (('one', {'same': '1', 'other': '1', 'more': '1'}),
                             ('two', {'same': '1', 'other': '2'})):
        (tmp_path / folder).mkdir()
        for name, text in contents.items():
            (tmp_path / folder / name).write_text(text)
    assert build_dist.differing(tmp_path / 'one', tmp_path / 'two') == ['more', 'other']


def test_the_time_may_be_given(build_dist, monkeypatch):
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '12')
    assert build_dist.epoch() == 12
