# SPDX-License-Identifier: Apache-2.0
"""The real ``openstack`` client, run in this process: it starts slowly."""

from collections.abc import Mapping
import contextlib
import io
import os
import shlex
from unittest import mock

import openstack
from openstackclient import shell
from openstackclient.common import clientmanager
from osc_lib import clientmanager as osc_lib

from nova_rt.tests.e2e import driver


class Client:
    """The client of one user.

    :param environment: its variables (OS_AUTH_URL and so on).
    :ivar cloud: the same user's connection, to look at things.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {
            **{key: value for key, value in os.environ.items()
               if not key.startswith('OS_')}, **environment}
        self.cloud: openstack.connection.Connection = driver.connect(
            environment)

    def run(self, command: str, fails: bool = False) -> str:
        """Run a command, as typed after ``openstack``.

        :param fails: whether it must fail.
        :returns: its output, or all that it said if it failed.
        :raises AssertionError: if it fails and must not, or the reverse.
        """
        print(f'$ openstack {command}')
        _forget_the_last_user()
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, self._environment, clear=True), \
                contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            status = shell.OpenStackShell().run(shlex.split(command))
        said = out.getvalue() + err.getvalue()
        print(said)
        assert bool(status) == fails, said
        return said.strip() if fails else out.getvalue().strip()


def _forget_the_last_user() -> None:
    """Let the next command make its own sessions.

    They are kept for the length of a process, which is otherwise a command's.
    """
    for kind in clientmanager.ClientManager.__mro__:
        for cached in vars(kind).values():
            if isinstance(cached, osc_lib.ClientCache):
                cached._handle = None
