# SPDX-License-Identifier: Apache-2.0
"""Heat stacks, through the commands that their owner types."""

import itertools
import json
import pathlib

from tacker_rt.tests.e2e import client

# A template whose server has a reservation by hints.
HINTS = pathlib.Path(__file__).parents[3] / 'tosca' / 'hot' / 'hints.yaml'
_numbers = itertools.count(1)


class Owner:
    """Creates stacks, and deletes them at the end.

    :param user: the owner.
    """

    def __init__(self, user: client.Client) -> None:
        self._client = user
        self._stacks: list[str] = []

    def create(self, template: pathlib.Path, **parameters: object) -> str:
        """Create a stack, and return the id of its only server.

        :raises AssertionError: if Heat could not
        """
        self._run(template, parameters, fails=False)
        (server,) = self.servers()
        return server

    def servers(self) -> list[str]:
        """Return the ids of the newest stack's servers, those of nested ones too."""
        resources = json.loads(self._client.run(
            f'stack resource list {self._stacks[-1]} -n 2 -f json '
            '--filter type=OS::Nova::Server'))
        return [str(each['physical_resource_id']) for each in resources
                if each['physical_resource_id']]

    def refusal(self, template: pathlib.Path, **parameters: object) -> str:
        """Create a stack, which must fail, and return what Heat says."""
        return self._run(template, parameters, fails=True)

    def delete_all(self) -> None:
        """Delete what was created, whole or not."""
        while self._stacks:
            name = self._stacks.pop()
            if self._client.cloud.orchestration.find_stack(name):
                self._client.run(f'stack delete --yes --wait {name}')

    def _run(self, template: pathlib.Path,
             parameters: dict[str, object], fails: bool) -> str:
        name = f'e2e-{next(_numbers)}'
        self._stacks.append(name)
        given = ' '.join(f'--parameter {key}={value}'
                         for key, value in parameters.items())
        return self._client.run(
            f'stack create -t {template} {given} --wait '
            f'--poll 1 {name}', fails=fails)
