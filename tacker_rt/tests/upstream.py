# SPDX-License-Identifier: Apache-2.0
"""Descriptors and tests that nobody here wrote: the sources on PyPI.

Fetched by pip when a test first needs them, and kept in the user's cache;
nothing of them is in this repository.
"""

import contextlib
import fcntl
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tarfile
import venv

import pytest

CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache',
             'nova-rt', 'upstream')
RELEASES = {'tosca-parser': '2.15.0', 'heat-translator': '3.5.0',
            'tacker': '16.0.0'}
SOL001 = 'etsi_nfv_sol001_vnfd_types.yaml'
COMMON = 'etsi_nfv_sol001_common_types.yaml'
# What their own test suites need beside themselves.
_FOR_SUITES = ('ddt', 'fixtures', 'pytest', 'testscenarios', 'testtools',
               'requests-mock')
_TIMEOUT = 600


def sources(name: str) -> Path:
    """Return the unpacked sources of a release; skip the test without them."""
    path = CACHE / f'{name.replace("-", "_")}-{RELEASES[name]}'
    with _alone():
        if not path.is_dir():
            _fetch(name)
    return path


def without_us() -> Path:
    """Return a Python that has the same releases, but not nova-rt."""
    versions = '-'.join(RELEASES[each] for each
                        in ('tosca-parser', 'heat-translator'))
    path = CACHE / f'without-{versions}'
    python = path / 'bin' / 'python'
    # Of a Python that an upgrade of the machine has removed, it does not run any more.
    ours = path / 'lib' / f'python{sys.version_info.major}.{sys.version_info.minor}'
    with _alone():
        if not (path / 'complete').exists() or not ours.exists():
            shutil.rmtree(path, ignore_errors=True)
            venv.create(path, with_pip=True)
            _run([python, '-m', 'pip', 'install', '-q', *_FOR_SUITES,
                  *(f'{each}=={RELEASES[each]}' for each
                    in ('tosca-parser', 'heat-translator'))])
            (path / 'complete').touch()
    return python


def types(version: str) -> Path:
    """Return a directory with ETSI's types as Tacker ships them.

    :param version: 2.6.1 or 2.7.1
    """
    samples = sources('tacker') / 'samples'
    return {
        '2.6.1': samples / 'tests/functional/sol_v2_common/common/Definitions',
        '2.7.1': samples / 'free5gc/vnf/sample_free5gc_vnf_package/Definitions',
    }[version]


def _fetch(name: str) -> None:
    download = CACHE / 'download'
    _run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps',
          '--no-binary', ':all:', '-d', download,
          f'{name}=={RELEASES[name]}'])
    [archive] = download.glob(f'{name.replace("-", "_")}-*.tar.gz')
    with tarfile.open(archive) as packed:
        packed.extractall(CACHE)


def _run(command: list[str | Path]) -> None:
    """Run pip, and skip the test if it cannot be reached."""
    CACHE.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=_TIMEOUT, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ['no reason']
        pytest.skip(f'pip cannot fetch what this compares with: {said[-1]}')


@contextlib.contextmanager
def _alone():
    """Let one process of the tests fetch, and the others wait."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
