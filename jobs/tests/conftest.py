# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import tempfile

import pytest

from nova_rt.monitor import record
from nova_rt.testing import jobs


@pytest.fixture(scope='session')
def built(tmp_path_factory):
    return jobs.build(tmp_path_factory.mktemp('built'))


@pytest.fixture(scope='session')
def program(built):
    """Return a function that compiles a program of this folder once, and returns it."""
    compiled = {}

    def of(name, *options):
        if name not in compiled:
            compiled[name] = jobs.compile_program(
                built, jobs.SOURCES / 'tests' / f'{name}.c', *options)
        return compiled[name]
    return of


@pytest.fixture
def folder(monkeypatch):
    """Return a folder of records on a tmpfs."""
    path = tempfile.mkdtemp(prefix='nova-rt-', dir=jobs.SHARED_MEMORY)
    monkeypatch.setenv(jobs.FOLDER_VARIABLE, path)
    yield jobs.SHARED_MEMORY / path
    shutil.rmtree(path)


@pytest.fixture
def library(built, folder):
    return jobs.Library(built)


@pytest.fixture
def told(folder):
    """Return a function that returns what an activity tells."""
    def of(name):
        return record.decode((folder / name).read_bytes())
    return of


@pytest.fixture
def as_root():
    if os.geteuid():
        pytest.skip('Needs root: mounts a file system.')
