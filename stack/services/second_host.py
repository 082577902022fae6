# SPDX-License-Identifier: Apache-2.0
"""A second host of virtual machines on this machine: its own libvirt, name and files.

It has half of the pCPUs, and its own address on loopback. Where Nova's files are on the
first host, it sees its own, in its mount namespace. What both share is the network: a
device has one name, so a server with a port cannot be migrated live between them.
"""

from collections.abc import Sequence
import shlex

from stack import host
from stack.service import Site
from stack.services import hosts
from stack.services import libvirt
from stack.services import nova

# Nova's way to the disks of another host. Both are this machine, so no server is needed.
_SSH = """\
#!/bin/sh
# ssh [-o OPTION]... ADDRESS COMMAND...
while [ "${{1#-}}" != "$1" ]; do
    case $1 in -o) shift 2 ;; *) shift ;; esac
done
read -r holder < {data}/mounted-"$1" || exit 255
shift
exec nsenter --mount=/proc/"$holder"/ns/mnt -- sh -c "$*"
"""
_SCP = """\
#!/bin/sh
# scp [-r] FILE ADDRESS:PATH
while [ "${{1#-}}" != "$1" ]; do shift; done
exec {data}/between/ssh "${{2%%:*}}" "cp --sparse=always /dev/stdin '${{2#*:}}'" < "$1"
"""


def write_commands(site: Site) -> None:
    """Write the commands with which a host reaches the other one's files."""
    between = hosts.between(site)
    between.mkdir(parents=True)
    for name, text in (('ssh', _SSH), ('scp', _SCP)):
        (between / name).write_text(text.format(data=shlex.quote(str(site.rundir.data))))
        (between / name).chmod(0o755)


class SecondNamespace(libvirt.MountNamespace):
    """See base class; also with a name of its own, and control groups."""

    name = libvirt.of_host(libvirt.MountNamespace.name, 2)
    # It makes the mount points.
    needs_to_prepare = (libvirt.MountNamespace.name,)
    number = 2

    def prepare(self) -> None:
        """Make directories, groups, and the way between the hosts."""
        for path in (hosts.nova(self.site, 1), hosts.nova(self.site, 2) / 'instances'):
            path.mkdir(parents=True, exist_ok=True)
        write_commands(self.site)
        self._groups = host.make_groups(self.site.rundir, f'nova-rt-{hosts.SECOND}')
        self.write()

    def mounts(self) -> Sequence[str]:
        """See base class.

        Two machines of the same name and number would share a control group, so libvirt
        finds its hierarchies below groups of this host's own.
        """
        return (
            f'hostname {hosts.SECOND}', *super().mounts(),
            *(shlex.join(('mount', '--bind', str(group), str(group.parent)))
              for group in self._groups),
            shlex.join(('mount', '--bind', str(hosts.nova(self.site, 2)),
                        str(hosts.nova(self.site, 1)))))


class SecondLibvirt(libvirt.Libvirt):
    """See base class."""

    name = libvirt.of_host(libvirt.Libvirt.name, 2)
    needs = (SecondNamespace.name,)
    number = 2


class SecondCompute(nova.MachineCompute):
    """See base class."""

    name = libvirt.of_host(nova.MachineCompute.name, 2)
    needs = (*nova.MachineCompute.needs, SecondLibvirt.name)
    number = 2
