# SPDX-License-Identifier: Apache-2.0
"""User data for Tacker's version 2 API: its own, with reservations.

Named in a request's additionalParams::

  "lcm-operation-user-data": "tacker_rt/user_data.py",
  "lcm-operation-user-data-class": "StandardUserData"

Tacker runs a class for every operation in a process of its own, and takes from
it what is sent to Heat: template, nested files, parameters. The VNFD's
reservations are added to the servers in these. They are kept in the parameter
``nfv`` of the stack, under ``reservations``, where a later operation finds what
an input was at instantiation.
"""

from collections.abc import Callable
import contextlib
import functools
import io
import sys
from typing import Any

import yaml

from nova_rt import reservation
from tacker_rt import template_hints

# Tacker reports what this process prints: not what its libraries warn of.
with contextlib.redirect_stderr(io.StringIO()):
    from tacker.sol_refactored.common import common_script_utils
    from tacker.sol_refactored.infra_drivers.openstack import userdata_default
    from tacker.sol_refactored.infra_drivers.openstack import userdata_standard

KEPT = 'reservations'

Fields = dict[str, Any]


def _in_a_sentence(operation: Callable[..., Fields]) -> Callable[..., Fields]:
    """Let Tacker, which reports what this process prints, report that only."""
    @functools.wraps(operation)
    def called(*args: Any) -> Fields:
        try:
            return operation(*args)
        except reservation.InvalidReservationError:
            sys.tracebacklimit = 0
            raise
    return called


def _with_reservations(
        fields: Fields, vnfd_id: str, flavour_id: str, csar_dir: str,
        req: dict[str, Any], inst: dict[str, Any]) -> Fields:
    """Return the fields with the reservations of a VNFD added.

    A VDU must be a server there only where the whole stack is described.
    """
    topology = _topology(vnfd_id, flavour_id, csar_dir)
    wanted = _wanted(topology, req, inst)
    template = yaml.safe_load(fields.get('template', '{}'))
    files = {name: yaml.safe_load(content)
             for name, content in fields.get('files', {}).items()}
    served = template_hints.add_hints(
        [template, *files.values()], wanted, template_hints.nodes(topology))
    if 'files' in fields:
        template_hints.refuse_missing(wanted, served)
        fields['files'] = {name: yaml.safe_dump(content)
                           for name, content in files.items()}
        _keep(fields, wanted, inst)
    if 'template' in fields:
        fields['template'] = yaml.safe_dump(template)
    return fields


def _topology(vnfd_id: str, flavour_id: str, csar_dir: str) -> dict[str, Any]:
    vnfd = common_script_utils.get_vnfd(vnfd_id, csar_dir)
    flavour = vnfd.get_vnfd_flavour(flavour_id) or {}
    found: dict[str, Any] = flavour.get('topology_template') or {}
    return found


def _wanted(topology: dict[str, Any], req: dict[str, Any],
            inst: dict[str, Any]) -> dict[str, template_hints.Hints]:
    return template_hints.reservations(
        topology, req.get('additionalParams') or {}, _kept(inst))


def _instantiated(inst: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = inst.get('instantiatedVnfInfo') or {}
    return found


def _kept(inst: dict[str, Any]) -> dict[str, template_hints.Hints]:
    """Return the reservations that the last operation kept."""
    metadata = _instantiated(inst).get('metadata') or {}
    found: dict[str, template_hints.Hints] = (metadata.get('nfv') or {}).get(KEPT) or {}
    return found


def _keep(fields: Fields, wanted: dict[str, template_hints.Hints],
          inst: dict[str, Any]) -> None:
    """Keep what is wanted now, and of VDUs that had more before, nothing.

    Tacker merges the parameter nfv as JSON merge patch does, where None
    removes.
    """
    kept = _kept(inst)
    if wanted or kept:
        now: dict[str, Any] = {**dict.fromkeys(kept), **wanted}
        if fields.get('existing') is False:
            now = {**wanted}
        fields.setdefault('parameters', {}).setdefault('nfv', {})[KEPT] = now


class StandardUserData(userdata_standard.StandardUserData):
    """Tacker's StandardUserData, with the reservations of the VNFD."""

    @staticmethod
    @_in_a_sentence
    def instantiate(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the fields of the new stack."""
        return _with_reservations(
            userdata_standard.StandardUserData.instantiate(
                req, inst, grant_req, grant, tmp_csar_dir),
            inst['vnfdId'], req['flavourId'], tmp_csar_dir, req, inst)

    @staticmethod
    @_in_a_sentence
    def scale(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the servers to add, or those to remove."""
        return _updated(userdata_standard.StandardUserData.scale(
            req, inst, grant_req, grant, tmp_csar_dir),
            inst, req, tmp_csar_dir)

    @staticmethod
    @_in_a_sentence
    def change_vnfpkg(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the whole stack as the new package describes it."""
        return _with_reservations(
            userdata_standard.StandardUserData.change_vnfpkg(
                req, inst, grant_req, grant, tmp_csar_dir),
            grant_req['dstVnfdId'], _instantiated(inst)['flavourId'],
            tmp_csar_dir, req, inst)

    @staticmethod
    @_in_a_sentence
    def change_vnfpkg_rollback(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the whole stack as it was."""
        return _updated(
            userdata_standard.StandardUserData.change_vnfpkg_rollback(
                req, inst, grant_req, grant, tmp_csar_dir),
            inst, {}, tmp_csar_dir)


class DefaultUserData(userdata_default.DefaultUserData):
    """Tacker's DefaultUserData, with the reservations of the VNFD."""

    @staticmethod
    @_in_a_sentence
    def instantiate(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the fields of the new stack."""
        return _with_reservations(
            userdata_default.DefaultUserData.instantiate(
                req, inst, grant_req, grant, tmp_csar_dir),
            inst['vnfdId'], req['flavourId'], tmp_csar_dir, req, inst)

    @staticmethod
    @_in_a_sentence
    def change_vnfpkg(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return what changes; files too if reservations are concerned."""
        fields = userdata_default.DefaultUserData.change_vnfpkg(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _with_files(fields, grant_req['dstVnfdId'], inst, req,
                           tmp_csar_dir)

    @staticmethod
    @_in_a_sentence
    def change_vnfpkg_rollback(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return what changes back."""
        fields = userdata_default.DefaultUserData.change_vnfpkg_rollback(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _with_files(fields, inst['vnfdId'], inst, {}, tmp_csar_dir)


def _updated(fields: Fields, inst: dict[str, Any], req: dict[str, Any],
             csar_dir: str) -> Fields:
    """Return the fields with the reservations of the VNF's own VNFD."""
    return _with_reservations(
        fields, inst['vnfdId'], _instantiated(inst)['flavourId'], csar_dir,
        req, inst)


def _with_files(fields: Fields, vnfd_id: str, inst: dict[str, Any],
                req: dict[str, Any], csar_dir: str) -> Fields:
    """Add the package's templates if the VNF has or gets a reservation.

    Tacker's own class leaves the servers' templates as they are.
    """
    flavour_id = _instantiated(inst)['flavourId']
    topology = _topology(vnfd_id, flavour_id, csar_dir)
    if not (_wanted(topology, req, inst) or _kept(inst)):
        return fields
    base = common_script_utils.get_vnfd(
        vnfd_id, csar_dir).get_base_hot(flavour_id)
    fields['template'] = yaml.safe_dump(base['template'])
    fields['files'] = {name: yaml.safe_dump(content)
                       for name, content in base.get('files', {}).items()}
    return _with_reservations(
        fields, vnfd_id, flavour_id, csar_dir, req, inst)
