# SPDX-License-Identifier: Apache-2.0
"""What a cloud with one host tells."""

from nova_rt import bandwidth

SERVER = '11111111-2222-3333-4444-555555555555'
PROJECT = 32 * 'b'
FLAVOR = 'f1'
CPU = bandwidth.BW_UNIT
CAP = bandwidth.to_bandwidth(95, 100)
HELD = bandwidth.to_bandwidth(30, 100)
OTHER = bandwidth.to_bandwidth(10, 100)
RESERVATION = {'runtime_us': 30000, 'period_us': 100000, 'vcpus': 2, 'bandwidth': HELD}
HOST = {
    'uuid': SERVER, 'host': 'compute-1', 'kind': 'machine', 'dialect': 'deadline',
    'placement_policy': 'worst-fit', 'trouble': '', 'cap': CAP, 'share': 2 * CAP,
    'share_used': OTHER + HELD, 'pcpus_offered': 2, 'most_left': CAP - HELD,
    'criticalities': ['A', 'B']}
SPECS = {'hw:cpu.rt_runtime_us': '30000', 'hw:cpu.rt_period_us': '100000'}


def everything(cloud):
    """Make it a cloud of a host with a server."""
    nothing(cloud)
    cloud.says('GET', '/rt/hosts', {'hosts': [HOST], 'next': None, 'unreachable_cells': []})
    cloud.says('GET', '/rt/projects', {'projects': [
        {'project_id': PROJECT, 'servers': 1, 'vcpus': 2, 'share': 2 * HELD}],
        'unreachable_cells': []})
    cloud.says('GET', '/identity/v3/projects', {'projects': [
        {'id': PROJECT, 'name': 'customer', 'enabled': True, 'links': {}}]})
    host(cloud)
    flavor(cloud)


def nothing(cloud):
    """Make it an empty cloud."""
    cloud.says('GET', '/rt/hosts', {'hosts': [], 'next': None, 'unreachable_cells': []})
    cloud.says('GET', '/rt/projects', {'projects': [], 'unreachable_cells': []})
    cloud.says('GET', '/rt/waiting', {'waiting': []})
    cloud.says('GET', '/identity/v3/projects', {'projects': []})
    cloud.says('GET', '/compute/flavors/detail', {'flavors': []})
    # Clients ask for these first.
    for path, version, newest in (('identity/v3', 'v3.14', ''), ('rt', 'v1.0', '1.6'),
                                  ('compute', 'v2.1', '2.100')):
        cloud.says('GET', f'/{path}', {'version': {
            'id': version, 'status': 'CURRENT', 'version': newest, 'max_version': newest,
            'min_version': newest and '1.0', 'links': [
                {'rel': 'self', 'href': f'{cloud.url}/{path}/'}]}})


def host(cloud, name='web'):
    """Tell of a host with a server of this name."""
    cloud.says('GET', '/rt/hosts/compute-1', {
        **HOST, 'pcpus': [
            {'pcpu': 0, 'capacity': CAP, 'used': HELD, 'left': CAP - HELD},
            {'pcpu': 3, 'capacity': CAP, 'used': HELD + OTHER, 'left': CAP - HELD - OTHER}],
        'holdings': [{'server': SERVER, 'name': name, 'project_id': PROJECT,
                      'reservation': RESERVATION, 'pcpus': [0, 3]}]})


def flavor(cloud, specs=None, name='rt1'):
    """Tell of a flavor with these extra specs."""
    specs = SPECS if specs is None else specs
    one = {'id': FLAVOR, 'name': name, 'vcpus': 2, 'ram': 64, 'disk': 1, 'links': [],
           'os-flavor-access:is_public': True, 'extra_specs': specs}
    cloud.says('GET', '/compute/flavors/detail', {'flavors': [one]})
    cloud.says('GET', f'/compute/flavors/{FLAVOR}', {'flavor': one})
    cloud.says('GET', f'/compute/flavors/{FLAVOR}/os-extra_specs', {'extra_specs': specs})
    cloud.says('POST', f'/compute/flavors/{FLAVOR}/os-extra_specs', {'extra_specs': specs})
    for spec in specs:
        cloud.says('DELETE', f'/compute/flavors/{FLAVOR}/os-extra_specs/{spec}', {}, 202)
