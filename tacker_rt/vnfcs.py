# SPDX-License-Identifier: Apache-2.0
"""Which VNFC an alert is about.

Tacker's own alerts name a VNF and a VNFC, so each VNF needs rules of its own, and new ones after
each operation. Our metrics know servers only. The ids of these are among a VNF's resources, so
one rule does for all VNFs.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

VNF, VNFC, SERVER = 'vnf_instance_id', 'vnfc_info_id', 'server'


@dataclasses.dataclass(frozen=True, slots=True)
class Vnfc:
    """A part of a VNF that runs on one server.

    :ivar vnf: Tacker's object of the VNF
    :ivar id: of the VNFC, as healing names it
    :ivar server: its id in the VIM
    """

    vnf: Any
    id: str
    server: str

    @property
    def is_healed(self) -> bool:
        """Whether its VNF is to be healed without being asked."""
        wishes = self.vnf.to_dict().get('vnfConfigurableProperties') or {}
        return bool(wishes.get('isAutohealEnabled'))


def all_of(vnfs: Iterable[Any]) -> list[Vnfc]:
    """Return the VNFCs that run.

    :param vnfs: Tacker's objects
    """
    return [vnfc for vnf in vnfs for vnfc in _of(vnf)]


def find(labels: Mapping[str, str], among: Iterable[Vnfc]) -> Vnfc | None:
    """Return the VNFC of an alert: by Tacker's labels, or by its server; None if there is none."""
    if VNFC in labels:
        wanted = (labels.get(VNF), labels[VNFC])
        return next((each for each in among if (each.vnf.id, each.id) == wanted), None)
    return next((each for each in among if each.server == labels.get(SERVER)), None)


def _of(vnf: Any) -> Iterable[Vnfc]:
    info = vnf.to_dict().get('instantiatedVnfInfo') or {}
    servers = {each['id']: each['computeResource']['resourceId']
               for each in info.get('vnfcResourceInfo') or []}
    for vnfc in info.get('vnfcInfo') or []:
        server = servers.get(vnfc.get('vnfcResourceInfoId'))
        if server:
            yield Vnfc(vnf, vnfc['id'], server)
