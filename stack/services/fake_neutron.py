# SPDX-License-Identifier: Apache-2.0
"""The answers that Nova needs from Neutron when there is no network."""

from collections.abc import Sequence
import sys

from stack.service import answers
from stack.service import Service


class FakeNeutron(Service):
    """A server that reports no ports and no security groups.

    nova-api asks for them whenever a server is shown, even for servers
    that were created with ``--nic none``.
    """

    name = 'neutron'

    def command(self) -> Sequence[str]:
        """Return our own small server's command line."""
        return (sys.executable, '-m', 'stack.fake_neutron',
                str(self.site.port('neutron')))

    def ready(self) -> bool:
        """Whether it answers."""
        return answers(self.site.url('neutron', '/v2.0/ports'))
