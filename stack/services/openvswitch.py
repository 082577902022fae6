# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch with its datapath in user space.

Kernels without the module ``openvswitch`` are enough for it. Its devices outlive
the process that switches, see ``stack.devices``.
"""

from collections.abc import Sequence
from pathlib import Path

from stack.service import Service
from stack.service import Site
from stack.services import libvirt

SOCKET = 'unix:/run/openvswitch/db.sock'
SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema'

# The bridge to the outside, which has this address. It is a network namespace
# of its own, so that the machine's own network stays as it is.
PROVIDER = 'br-provider'
OUTSIDE = 'outside'
ADDRESS = '172.24.4.1'
PREFIX = 24
# ovs-vsctl waits for the daemon.
OPEN = f"""
set -e
ovs-vsctl --timeout=60 --may-exist add-br {PROVIDER} \
    -- set Bridge {PROVIDER} datapath_type=netdev
ip netns delete {OUTSIDE} 2> /dev/null || :
ip netns add {OUTSIDE}
ovs-vsctl --timeout=60 --may-exist add-port {PROVIDER} {OUTSIDE} \
    -- set Interface {OUTSIDE} type=internal
ip link set {OUTSIDE} netns {OUTSIDE}
ip -n {OUTSIDE} address add {ADDRESS}/{PREFIX} dev {OUTSIDE}
ip -n {OUTSIDE} link set {OUTSIDE} up
"""

# As libvirt sets the device of a container up, the switch, which has read the
# device's flags just before, may write them back with PROMISC and without UP.
KEEP_UP = """
ip -oneline monitor link | while read -r _ device flags _; do
    case "$device $flags" in
        *[\\<,]UP[,\\>]*) ;;
        tap*@*PROMISC*)
            ovs-vsctl --timeout=5 port-to-br "${device%@*}" &&
            ip link set "${device%@*}" up ;;
    esac
done
"""


def outside(site: Site, *command: str) -> tuple[str, ...]:
    """Return ``command`` to be run where containers are reached."""
    return libvirt.inside(site, 'ip', 'netns', 'exec', OUTSIDE, *command)


class OvsDatabase(Service):
    """The database with the configuration of the switch."""

    name = 'ovsdb-server'
    needs = ('mount-namespace',)

    def prepare(self) -> None:
        """Create the database, empty."""
        self._database.parent.mkdir(parents=True)
        self.site.processes.run('ovsdb-schema', (
            'ovsdb-tool', 'create', str(self._database), SCHEMA))

    def command(self) -> Sequence[str]:
        """Return the server's command line."""
        return libvirt.inside(
            self.site, 'ovsdb-server', str(self._database),
            f'--remote=p{SOCKET}', '--pidfile', '--no-chdir')

    def ready(self) -> bool:
        """Whether its socket is there."""
        return (libvirt.ours(self.site, '/run/openvswitch')
                / 'db.sock').exists()

    @property
    def _database(self) -> Path:
        return self.site.rundir.data / 'openvswitch' / 'conf.db'


class OpenVSwitch(Service):
    """The switch itself."""

    name = 'ovs-vswitchd'
    needs = ('ovsdb-server',)

    def start(self) -> None:
        """See base class; what holds for all devices must be there first."""
        # A container leaves the checksums of what it sends to its device.
        self._run('ovs-vsctl', '--no-wait', '--', 'init', '--', 'set',
                  'Open_vSwitch', '.',
                  'other_config:userspace-tso-enable=true')
        super().start()

    def command(self) -> Sequence[str]:
        """Return the daemon's command line."""
        return libvirt.inside(
            self.site, 'ovs-vswitchd', SOCKET, '--pidfile', '--no-chdir')

    def finish(self) -> None:
        """Create the outside and the bridge to it."""
        self._run('sh', '-c', OPEN)

    def _run(self, *command: str) -> None:
        self.site.processes.run(
            'ovs-vsctl', libvirt.inside(self.site, *command))


class PortsUp(Service):
    """Sets a container's port up again that the switch has set down."""

    name = 'ports-up'
    needs = ('ovs-vswitchd',)

    def command(self) -> Sequence[str]:
        """Return the command that does so whenever a device changes."""
        return libvirt.inside(self.site, 'sh', '-c', KEEP_UP)
