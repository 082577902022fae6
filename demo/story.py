# SPDX-License-Identifier: Apache-2.0
"""The commands that every mode runs, through the same client."""

from demo.shell import Client
from demo.shell import DemoError
from demo.shell import step

FLAVOR = (
    'openstack flavor create rt1 --vcpus 2 --ram 512 --disk 1 '
    '--property hw:cpu.rt_runtime_us=60000 '
    '--property hw:cpu.rt_period_us=200000')
PERIOD_US = 200_000
CREATE = 'openstack server create {} --flavor rt1 --image {} --nic none'


def flavor(client: Client, number: int) -> None:
    """Create a flavor that reserves 30% on each of two vCPUs."""
    with step(number, 'A flavor: 60 ms every 200 ms on each of 2 vCPUs (30%)'):
        client.run(FLAVOR + ' -c name -c properties')


def servers(client: Client, number: int, images: tuple[str, str]) -> None:
    """Create a server with the reservation of its flavor, and one with a hint."""
    with step(number, 'A server with this reservation'):
        client.run(CREATE.format('web', images[0])
                   + ' -c name -c status')
        client.wait('web', 'ACTIVE')
    with step(number + 1, 'A server whose hint overrides the flavor (40%)'):
        client.run(CREATE.format('db', images[1])
                   + ' --hint cpu.rt_runtime_us=80000 -c name -c status')
        client.wait('db', 'ACTIVE')
        client.run('openstack server list -c Name -c Status -c Flavor')
        client.run('openstack server show db -c flavor -f json')


def bad_hints(client: Client, number: int, image: str = 'busybox') -> None:
    """Send invalid hints, which the API refuses at once."""
    with step(number, 'Hints that make no sense: refused at once'):
        for hint in ('cpu.rt_runtime_us=300000', 'cpu.rt_runtime_us=abc',
                     'cpu.rt_runtim_us=80000'):
            said = client.run(
                CREATE.format('bad', image) + f' --hint {hint}',
                fails=True)
            if '400' not in said:
                raise DemoError(f'The answer to {hint} was not 400: {said}')


def no_room(client: Client, number: int, runtime_us: int,
            image: str = 'busybox') -> None:
    """Ask for more than is left; the server's fault says what is missing."""
    share = runtime_us / PERIOD_US
    with step(number, f'A reservation that does not fit ({share:.0%} on each '
              'vCPU)'):
        client.run(CREATE.format('big', image)
                   + f' --hint cpu.rt_runtime_us={runtime_us} '
                   '-c name -c status')
        try:
            client.wait('big', 'ACTIVE')
        except DemoError:
            client.run('openstack server show big -c status -c fault -f json')
        else:
            raise DemoError(
                'Server big was created, although the host has no room for it.')
        client.run('openstack server delete --wait big')


def delete(client: Client, number: int) -> None:
    """Delete the servers."""
    with step(number, 'The end of the servers'):
        client.run('openstack server delete --wait web db')
        client.run('openstack server list')


