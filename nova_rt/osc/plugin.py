# SPDX-License-Identifier: Apache-2.0
"""What the openstack client asks of a plug-in (osc-lib's "Plugin Client")."""

from __future__ import annotations

import argparse
import re
from typing import Any

from osc_lib import exceptions
from osc_lib import utils

from nova_rt.osc import client

API_NAME = 'rt'
API_VERSION_OPTION = 'os_rt_api_version'
DEFAULT_API_VERSION = '1'
_VERSION = re.compile(r'1(\.[0-9]{1,4})?')


def make_client(instance: Any) -> client.Client:
    """Return the client that commands find as ``client_manager.rt``."""
    return client.Client(
        instance.session, version=instance._api_version[API_NAME],
        interface=instance.interface, region_name=instance.region_name)


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the option that names a version of the API."""
    parser.add_argument(
        '--os-rt-api-version', metavar='VERSION',
        default=utils.env('OS_RT_API_VERSION', default=DEFAULT_API_VERSION),
        help="version of nova-rt's API; with 1, each command asks for the oldest that has "
             'what it does (default: %(default)s, Env: OS_RT_API_VERSION)')
    return parser


def check_api_version(version: str) -> bool:
    """Return that a version is one of ours; the API says whether it has it.

    :raises CommandError: if it is none
    """
    if not _VERSION.fullmatch(version):
        raise exceptions.CommandError(
            f'--os-rt-api-version {version} is not known here: give 1 or 1.N, such as 1.0.')
    return True
