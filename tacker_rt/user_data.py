# SPDX-License-Identifier: Apache-2.0
"""User data for Tacker's version 2 API: its own, with reservations.

Named in a request's additionalParams::

  "lcm-operation-user-data": "tacker_rt/user_data.py",
  "lcm-operation-user-data-class": "StandardUserData"

Tacker runs the class in a separate process for every operation, and sends what
it returns to Heat: template, nested files, parameters. The VNFD's reservations
are added to the servers in these. They are stored in the stack's parameter
``nfv``, under ``reservations``, so that a later operation knows the values that
inputs had at instantiation.
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
from tacker_rt import template_names

# Tacker reports what this process prints, so its libraries must not warn.
with contextlib.redirect_stderr(io.StringIO()):
    from tacker.sol_refactored.common import common_script_utils
    from tacker.sol_refactored.infra_drivers.openstack import userdata_default
    from tacker.sol_refactored.infra_drivers.openstack import userdata_standard

KEPT = 'reservations'

Fields = dict[str, Any]


def _without_traceback(operation: Callable[..., Fields]) -> Callable[..., Fields]:
    """Print an error without its traceback: Tacker reports all that is printed."""
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
        req: dict[str, Any], inst: dict[str, Any], rename: bool = False) -> Fields:
    """Return the fields with the reservations of a VNFD added.

    Each VDU must have a server only if the fields describe the whole stack.

    :param rename: whether nested templates with reservations need names that
        Tacker leaves alone
    """
    topology = _topology(vnfd_id, flavour_id, csar_dir)
    wanted = _wanted(topology, req, inst)
    template = yaml.safe_load(fields.get('template', '{}'))
    files = {name: yaml.safe_load(content)
             for name, content in fields.get('files', {}).items()}
    served = template_hints.add_hints(
        [template, *files.values()], wanted, template_hints.nodes(topology))
    if rename:
        # Without files, the stack has those of the last operation that had some.
        names = template_names.new_names(
            _base(vnfd_id, flavour_id, csar_dir).get('files', {}),
            wanted if 'files' in fields else _kept(inst) or wanted,
            template_hints.nodes(topology))
        template = template_names.rename_types(template, names)
        files = {names.get(name, name): template_names.rename_types(content, names)
                 for name, content in files.items()}
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
    topology: dict[str, Any] = flavour.get('topology_template') or {}
    return topology


def _base(vnfd_id: str, flavour_id: str, csar_dir: str) -> dict[str, Any]:
    """Return the package's template and nested files."""
    base: dict[str, Any] = common_script_utils.get_vnfd(
        vnfd_id, csar_dir).get_base_hot(flavour_id)
    return base


def _wanted(topology: dict[str, Any], req: dict[str, Any],
            inst: dict[str, Any]) -> dict[str, template_hints.Hints]:
    return template_hints.reservations(
        topology, req.get('additionalParams') or {}, _kept(inst))


def _instantiated(inst: dict[str, Any]) -> dict[str, Any]:
    info: dict[str, Any] = inst.get('instantiatedVnfInfo') or {}
    return info


def _kept(inst: dict[str, Any]) -> dict[str, template_hints.Hints]:
    """Return the reservations that the last operation stored."""
    metadata = _instantiated(inst).get('metadata') or {}
    kept: dict[str, template_hints.Hints] = (metadata.get('nfv') or {}).get(KEPT) or {}
    return kept


def _keep(fields: Fields, wanted: dict[str, template_hints.Hints],
          inst: dict[str, Any]) -> None:
    """Store the current reservations; remove those of other VDUs.

    Tacker merges the parameter nfv as a JSON merge patch, where None removes
    a key.
    """
    kept = _kept(inst)
    if wanted or kept:
        patch: dict[str, Any] = {**dict.fromkeys(kept), **wanted}
        if fields.get('existing') is False:
            patch = {**wanted}
        fields.setdefault('parameters', {}).setdefault('nfv', {})[KEPT] = patch


class StandardUserData(userdata_standard.StandardUserData):
    """Tacker's StandardUserData, with the reservations of the VNFD."""

    @staticmethod
    @_without_traceback
    def instantiate(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the fields of the new stack."""
        return _with_reservations(
            userdata_standard.StandardUserData.instantiate(
                req, inst, grant_req, grant, tmp_csar_dir),
            inst['vnfdId'], req['flavourId'], tmp_csar_dir, req, inst, rename=True)

    @staticmethod
    @_without_traceback
    def scale(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the servers to add, or those to remove."""
        return _updated(userdata_standard.StandardUserData.scale(
            req, inst, grant_req, grant, tmp_csar_dir),
            inst, req, tmp_csar_dir)

    @staticmethod
    @_without_traceback
    def change_vnfpkg(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the whole stack as the new package describes it."""
        return _with_reservations(
            userdata_standard.StandardUserData.change_vnfpkg(
                req, inst, grant_req, grant, tmp_csar_dir),
            grant_req['dstVnfdId'], _instantiated(inst)['flavourId'],
            tmp_csar_dir, req, inst, rename=True)

    @staticmethod
    @_without_traceback
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
    @_without_traceback
    def instantiate(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the fields of the new stack."""
        return _with_reservations(
            userdata_default.DefaultUserData.instantiate(
                req, inst, grant_req, grant, tmp_csar_dir),
            inst['vnfdId'], req['flavourId'], tmp_csar_dir, req, inst)

    @staticmethod
    @_without_traceback
    def change_vnfpkg(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the changes; files too if there are reservations."""
        fields = userdata_default.DefaultUserData.change_vnfpkg(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _with_files(fields, grant_req['dstVnfdId'], inst, req,
                           tmp_csar_dir)

    @staticmethod
    @_without_traceback
    def change_vnfpkg_rollback(req: Fields, inst: Fields, grant_req: Fields, grant: Fields,
            tmp_csar_dir: str) -> Fields:
        """Return the changes of the rollback."""
        fields = userdata_default.DefaultUserData.change_vnfpkg_rollback(
            req, inst, grant_req, grant, tmp_csar_dir)
        return _with_files(fields, inst['vnfdId'], inst, {}, tmp_csar_dir)


def _updated(fields: Fields, inst: dict[str, Any], req: dict[str, Any],
             csar_dir: str) -> Fields:
    """Return the fields with the reservations of the VNF's own VNFD."""
    return _with_reservations(
        fields, inst['vnfdId'], _instantiated(inst)['flavourId'], csar_dir,
        req, inst, rename=True)


def _with_files(fields: Fields, vnfd_id: str, inst: dict[str, Any],
                req: dict[str, Any], csar_dir: str) -> Fields:
    """Add the package's templates if the VNF has or gets a reservation.

    Tacker's own class leaves the servers' templates as they are.
    """
    flavour_id = _instantiated(inst)['flavourId']
    topology = _topology(vnfd_id, flavour_id, csar_dir)
    if not (_wanted(topology, req, inst) or _kept(inst)):
        return fields
    base = _base(vnfd_id, flavour_id, csar_dir)
    fields['template'] = yaml.safe_dump(base['template'])
    fields['files'] = {name: yaml.safe_dump(content)
                       for name, content in base.get('files', {}).items()}
    return _with_reservations(
        fields, vnfd_id, flavour_id, csar_dir, req, inst)
