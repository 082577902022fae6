# SPDX-License-Identifier: Apache-2.0
"""User data for Tacker's version 1 API.

Version 1 looks for the file of the class in the package at every operation, so
a package contains one, such as ``UserData/rt.py``::

  from tacker_rt.user_data_v1 import UserData  # noqa: F401

Tacker takes parameters from it, then deploys the base template that it passed
to the class. The reservations are added to the servers in that template. Nested
templates are passed as copies: a server there must give the hints itself.
"""

from collections.abc import Collection
import copy
from typing import Any

from tacker.vnfm.lcm_user_data import abstract_user_data
from tacker.vnfm.lcm_user_data import utils

from tacker_rt import hot
from tacker_rt import problems
from tacker_rt import template_hints

BASE = 'heat_template'


class UserData(abstract_user_data.AbstractUserData):
    """Flavors, images and networks as in Tacker's samples; reservations too.

    Scaling and healing keep the template and need nothing else.
    """

    @staticmethod
    def instantiate(base_hot_dict: dict[str, Any], vnfd_dict: dict[str, Any],
                    inst_req_info: Any, grant_info: Any = None) -> dict[str, Any]:
        """Return the stack's parameters, and put hints into its template.

        :raises tacker_rt.problems.InvalidDescriptorError: if a VDU asks for
            an invalid reservation, or its server is nested and lacks the hints
        """
        _add_reservations(base_hot_dict, vnfd_dict,
                          inst_req_info.additional_params or {})
        initial = utils.create_initial_param_server_port_dict(base_hot_dict)
        images = utils.create_sw_image_dict(vnfd_dict)
        images.update(utils.create_vdu_image_dict(grant_info or {}))
        networks = (utils.create_network_dict(inst_req_info, initial)
                    if inst_req_info.ext_virtual_links else {})
        final = utils.create_final_param_dict(
            initial, utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            images, networks)
        return {**final, **utils.get_diff_base_hot_param_from_api(
            base_hot_dict, inst_req_info)}


def _add_reservations(templates: dict[str, Any], vnfd: dict[str, Any],
                      given: dict[str, Any]) -> None:
    topology = vnfd.get('topology_template') or {}
    wanted = template_hints.reservations(topology, given, {})
    nodes = template_hints.nodes(topology)
    served = template_hints.add_hints([templates[BASE]], wanted, nodes)
    for name, template in templates.items():
        if name != BASE:
            served |= _check_nested(template, wanted, nodes)
    template_hints.refuse_missing(wanted, served)


def _check_nested(template: dict[str, Any], wanted: dict[str, template_hints.Hints],
              nodes: Collection[str]) -> set[str]:
    """Return the VDUs with servers in a nested template; check their hints."""
    served = set()
    for vdu, server in hot.servers(template, wanted, nodes):
        complete = copy.deepcopy(server)
        template_hints.add_hints([{'resources': {vdu: complete}}], {vdu: wanted[vdu]}, ())
        if complete != server:
            hints = ', '.join(
                f'{name}: {value}' for name, value in wanted[vdu].items())
            raise problems.InvalidDescriptorError([problems.Problem(
                ('resources', vdu, 'properties', hot.HINTS), (
                    'Version 1 of Tacker cannot change nested templates: '
                    f'write {hints} here.'))])
        served.add(vdu)
    return served
