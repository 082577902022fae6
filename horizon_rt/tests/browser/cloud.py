# SPDX-License-Identifier: Apache-2.0
"""A real OpenStack with Horizon, started and used from outside, as its operator does.

These tests run in Horizon's own environment, which lacks most of what the stack imports.
"""

import contextlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time

import openstack
import pytest

ROOT = pathlib.Path(__file__).parents[3]
BIN = ROOT / '.tox' / 'nova' / 'bin'
PATIENCE = 600.0  # seconds
GIVEN = 'NOVA_RT_HORIZON_RUN_DIR'


class Cloud:
    """A stack that is up.

    :ivar rundir: its run directory
    """

    def __init__(self, rundir):
        self.rundir = pathlib.Path(rundir)
        self._users = {}

    @property
    def dashboard(self):
        """Where Horizon is."""
        return f'http://127.0.0.1:{self._site["ports"]["horizon"]}'

    @property
    def password(self):
        """That of each user."""
        return self._site['password']

    def connect(self, user):
        """Return the clients of a user, admin or demo."""
        return openstack.connect(
            load_yaml_config=False, load_envvars=False,
            **{name.removeprefix('OS_').lower(): value
               for name, value in self.environment(user).items()
               if name != 'OS_COMPUTE_API_VERSION'})

    def show_flavor(self, name):
        """Return the extra specs of a flavor, as "openstack flavor show" does.

        :raises AssertionError: if that fails
        """
        done = subprocess.run(
            (BIN / 'openstack', 'flavor', 'show', name, '-f', 'json'),
            env={**os.environ, **self.environment('admin')},
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)['properties']

    def until(self, condition):
        """Wait until something holds.

        :raises AssertionError: if it does not in time
        """
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.5)

    @contextlib.contextmanager
    def without(self, part):
        """Have a part of the stack stopped in here."""
        pid = json.loads((self.rundir / 'processes' / f'{part}.json').read_text())['pid']
        os.killpg(pid, signal.SIGKILL)
        try:
            yield
        finally:
            stack(self.rundir, 'restart', part)

    def environment(self, user):
        """Return the variables of a user's client."""
        if user not in self._users:
            told = stack(self.rundir, 'env', user)
            self._users[user] = dict(
                word.split('=', 1) for line in told.splitlines()
                for word in shlex.split(line)[1:])
        return self._users[user]

    @property
    def _site(self):
        return json.loads((self.rundir / 'site.json').read_text())


def stack(rundir, *arguments):
    """Run a command of a stack; return its output.

    :raises AssertionError: if it fails
    """
    done = subprocess.run(
        (BIN / 'python', '-m', 'stack', '--run-dir', rundir, *arguments), cwd=ROOT,
        capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def running():
    """Start a stack with Horizon, and give everything back at the end.

    NOVA_RT_HORIZON_RUN_DIR may name the run directory of one that is up already, with
    ``--with dashboard``: it is then used and left running.

    Skips the tests where there can be no stack.
    """
    given = os.environ.get(GIVEN)
    if given:
        yield Cloud(given)
        return
    missing = subprocess.run(
        (BIN / 'python', '-c', 'from stack import prerequisites as p; print(p.missing())'),
        cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    if missing:
        pytest.skip(missing)
    rundir = ROOT / 'run' / 'horizon'
    try:
        stack(rundir, 'up', '--with', 'dashboard')
        yield Cloud(rundir)
    finally:
        stack(rundir, 'down')
