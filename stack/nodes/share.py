# SPDX-License-Identifier: Apache-2.0
"""The folder that a node mounts: nova-rt as the tree has it, configurations.

kernel/guest/image says what the file system of the nodes expects in it.
"""

import compileall
from importlib import metadata
from pathlib import Path
import shutil

import nova_rt
from stack import ini
from stack import vcpus
from stack.image import build
from stack.nodes import pins
from stack.service import Site
from stack.services import neutron
from stack.services import nova

SOURCES = Path(nova_rt.__file__).parent
# The tests of a kernel that holds reservations.
CONFORMANCE = SOURCES / 'tests' / 'e2e' / 'test_kernel.py'
# Programs that look at what runs on the node.
LOOKS = (Path(__file__).parent / 'look.py', Path(__file__).parent / 'look_at_machines.py',
         Path(vcpus.__file__))
SCRIPT = """\
#!/usr/bin/python3
import sys
from nova_rt.cmd.{} import main
sys.exit(main())
"""
STATE = '/var/lib/nova'
PRIVSEP = 'privsep-helper --config-file '
NOVA_CONF = '/etc/nova/nova.conf'
NEUTRON_CONF = '/srv/node/etc/neutron/neutron.conf'
# A node neither needs nor may know these.
LEFT_OUT = ('api', 'api_database', 'database', 'keystone_authtoken', 'wsgi',
            'filter_scheduler', 'scheduler', 'conductor', 'nova')


def write_pins(path: Path) -> None:
    """Write the list of Python packages for the nodes' file system."""
    path.write_text(''.join(f'{pin}\n' for pin in pins.pins()))


def write_programs(site: Site, folder: Path) -> None:
    """Write nova-rt, what looks at the kernel, and a hog."""
    folder.mkdir()
    _write_nova_rt(site, folder / 'site')
    for program in LOOKS:
        shutil.copy(program, folder)
    (folder / 'conformance').mkdir()
    shutil.copy(CONFORMANCE, folder / 'conformance')
    # Nodes are prepared at the same time.
    build.compile_program('hog', folder / 'hog', lambda name, command: site.processes.run(
        f'{folder.parent.name}-{name}', command))


def write_configuration(
        site: Site, folder: Path, name: str, host: str) -> None:
    """Write nova.conf, with a network neutron.conf, and the keys.

    :param name: of the node.
    :param host: where the node finds what the host has on its loopback.
    """
    ini.write(folder / 'etc' / 'nova' / 'nova.conf',
              configuration(site, name, host))
    if site.has_network:
        ini.write(folder / 'etc' / 'neutron' / 'neutron.conf',
                  network_configuration(site, name, host))
    shutil.copy(key(site), folder / 'key')
    shutil.copy(f'{key(site)}.pub', folder / 'authorized_keys')


def key(site: Site) -> Path:
    """Return the path of the key for the nodes."""
    return site.rundir.data / 'node-key'


def make_key(site: Site) -> None:
    """Make the key for the nodes, once for all of them."""
    site.processes.run('node-key', (
        'ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', str(key(site))))


def configuration(
        site: Site, name: str, host: str) -> dict[str, dict[str, object]]:
    """Return nova.conf of a node."""
    helper = {'helper_command': PRIVSEP + NOVA_CONF}
    merged = ini.merged(nova.configuration(site), {
        'DEFAULT': {'host': name, 'my_ip': address(name),
                    'state_path': STATE,
                    # An emulated processor is slow, here and below.
                    'report_interval': 10,
                    'resume_guests_state_on_host_boot': True,
                    # Containers seldom use as much as they may.
                    'reserved_host_memory_mb': 0,
                    'ram_allocation_ratio': 16},
        'oslo_concurrency': {'lock_path': f'{STATE}/lock'},
        'placement': {'endpoint_override': site.url('placement')},
        **dict.fromkeys((
            'nova_sys_admin', 'privsep_osbrick', 'vif_plug_ovs_privileged',
            'vif_plug_linux_bridge_privileged'), helper),
    })
    return _of_a_node(merged, host)


def network_configuration(
        site: Site, name: str, host: str) -> dict[str, dict[str, object]]:
    """Return neutron.conf of a node, for its agent."""
    helper = {'helper_command': PRIVSEP + NEUTRON_CONF}
    state = '/var/lib/neutron'
    return _of_a_node(ini.merged(neutron.configuration(site), {
        'DEFAULT': {'host': name, 'state_path': state,
                    'rpc_response_timeout': 180},
        'agent': {'report_interval': 20, 'polling_interval': 4},
        'oslo_concurrency': {'lock_path': f'{state}/lock'},
        # The kernel's.
        'ovs': {'datapath_type': 'system'},
        **dict.fromkeys(neutron.HELPERS, helper),
    }), host)


def address(name: str) -> str:
    """Return a node's address in the network of the nodes."""
    return f'192.168.61.{name.rpartition("-")[2]}'


def _of_a_node(sections: ini.Sections,
               host: str) -> dict[str, dict[str, object]]:
    return {
        section: {option: _seen_from_inside(value, host)
                  for option, value in options.items()}
        for section, options in sections.items() if section not in LEFT_OUT}


def _seen_from_inside(value: object, host: str) -> object:
    return value.replace('127.0.0.1', host) if isinstance(value, str) else value


def _write_nova_rt(site: Site, folder: Path) -> None:
    """Install nova-rt as the tree has it, by Debian's rules for Python."""
    shutil.copytree(SOURCES, folder / 'nova_rt', ignore=shutil.ignore_patterns(
        '__pycache__', 'unit', 'functional', 'e2e'))
    rt_init = folder / 'nova_rt' / 'virt' / 'rt_init' / 'rt-init'
    site.processes.run(f'rt-init-{folder.parent.parent.name}', (
        'cc', '-static', '-Os', '-Wall', '-o', str(rt_init),
        str(SOURCES / 'virt' / 'rt_init' / 'rt-init.c')))
    distribution = metadata.distribution('nova-rt')
    described = folder / f'nova_rt-{distribution.version}.dist-info'
    described.mkdir()
    for file in ('METADATA', 'entry_points.txt'):
        (described / file).write_text(distribution.read_text(file) or '')
    compileall.compile_dir(folder, quiet=1)
    for command in ('compute', 'manage'):
        script = folder / 'bin' / f'nova-rt-{command}'
        script.parent.mkdir(exist_ok=True)
        script.write_text(SCRIPT.format(command))
        script.chmod(0o755)
