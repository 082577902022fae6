# SPDX-License-Identifier: Apache-2.0
"""tempest.conf of a stack."""

import os
from pathlib import Path

from stack.image import build
from stack.service import Site
from stack.services import keystone
from stack.services import neutron


def configuration(site: Site, folder: Path) -> dict[str, dict[str, object]]:
    """Return tempest.conf.

    :param folder: for tempest's own files.
    """
    images = _images(site)
    plain, meter = ((build.MACHINE, build.MACHINE) if site.runs_machines
                    else ('busybox', 'busybox-meter'))
    return {
        'DEFAULT': {'log_file': 'tempest.log', 'log_dir': folder},
        'oslo_concurrency': {'lock_path': folder / 'lock'},
        'auth': {
            'use_dynamic_credentials': True,
            'admin_username': 'admin',
            'admin_password': site.password,
            'admin_project_name': 'admin',
            'admin_domain_name': 'Default',
            'tempest_roles': 'member',
            'create_isolated_networks': False,
        },
        'identity': {
            'auth_version': 'v3',
            'uri_v3': site.url('keystone', '/v3'),
            'region': keystone.REGION,
        },
        'compute': {
            'image_ref': images[plain],
            'build_interval': 1,
            # An emulated CPU is slow.
            'build_timeout': 600 if site.nodes else 120,
            'ready_wait': 0,
        },
        'compute-feature-enabled': {
            'resize': True, 'cold_migration': True, 'console_output': True},
        'service_available': {
            'nova': True, 'glance': True, 'neutron': False, 'cinder': False,
            'swift': False, 'horizon': False},
        'validation': {'run_validation': False},
        'nova_rt': {'kind': 'machine' if site.runs_machines else 'container',
                    'meter_image_ref': images[meter], **_vnf(site, folder)},
    }


def _images(site: Site) -> dict[str, str]:
    """Return the id of each image by its name."""
    return {image.name: image.id
            for image in keystone.cloud(site).image.images()}


def _vnf(site: Site, folder: Path) -> dict[str, object]:
    """Return what the test of a VNF needs, nothing without Tacker and Neutron."""
    if not {'mano', 'network'} <= {*site.more}:
        return {}
    # It imports Tacker's files, which only these tests need.
    from tacker_rt.testing import packages

    path = folder / 'vnf.csar'
    packages.build('standard', path, {'name: busybox': f'name: {build.MACHINE}'}
                   if site.runs_machines else None)
    network = keystone.cloud(site).network.find_network(
        neutron.PHYSICAL, ignore_missing=False)
    return {'vnf_package': os.fspath(path), 'vnf_network_id': network.id,
            'vnf_connection_point': 'VDU_RT_OUT'}
