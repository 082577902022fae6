# SPDX-License-Identifier: Apache-2.0
"""What the tests keep of releases that they compare with."""

import sys

import pytest

from tacker_rt.tests import upstream

OURS = f'python{sys.version_info.major}.{sys.version_info.minor}'


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The environments that are made, in a cache of their own; pip installs nothing."""
    made = []
    monkeypatch.setattr(upstream, 'CACHE', tmp_path)
    monkeypatch.setattr(upstream, '_run', lambda command: None)
    monkeypatch.setattr(upstream.venv, 'create', lambda path, with_pip: (
        made.append(path), (path / 'lib' / OURS).mkdir(parents=True)))
    return made


def test_the_environment_to_compare_with_is_made_once(made):
    assert upstream.without_us() == upstream.without_us()
    assert len(made) == 1


def test_an_environment_of_a_python_that_is_gone_is_made_anew(made):
    python = upstream.without_us()
    lib = python.parents[1] / 'lib'
    (lib / OURS).rename(lib / 'python3.1')
    assert upstream.without_us() == python
    assert len(made) == 2
    assert not (lib / 'python3.1').exists()
