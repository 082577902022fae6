# SPDX-License-Identifier: Apache-2.0
"""The parts of the stack, one class each."""

from collections.abc import Iterable

from stack.service import Service
from stack.services.admission import AdmissionOff
from stack.services.aodh import AodhApi
from stack.services.aodh import AodhEvaluator
from stack.services.aodh import AodhIdentity
from stack.services.aodh import AodhNotifier
from stack.services.aodh import AodhSchema
from stack.services.blazar import BlazarApi
from stack.services.blazar import BlazarIdentity
from stack.services.blazar import BlazarManager
from stack.services.blazar import BlazarSchema
from stack.services.fake_neutron import FakeNeutron
from stack.services.glance import Glance
from stack.services.glance import GlanceSchema
from stack.services.glance import Images
from stack.services.glance import MachineImage
from stack.services.heat import HeatApi
from stack.services.heat import HeatEngine
from stack.services.heat import HeatIdentity
from stack.services.heat import HeatSchema
from stack.services.horizon import Horizon
from stack.services.keystone import Catalogue
from stack.services.keystone import Keystone
from stack.services.keystone import KeystoneKeys
from stack.services.libvirt import Libvirt
from stack.services.libvirt import MountNamespace
from stack.services.mariadb import MariaDB
from stack.services.neutron import DhcpAgent
from stack.services.neutron import Networks
from stack.services.neutron import Neutron
from stack.services.neutron import NeutronRpc
from stack.services.neutron import NeutronSchema
from stack.services.neutron import OvsAgent
from stack.services.nova import MachineCompute
from stack.services.nova import NovaApi
from stack.services.nova import NovaCompute
from stack.services.nova import NovaConductor
from stack.services.nova import NovaScheduler
from stack.services.nova import NovaSchema
from stack.services.openvswitch import OpenVSwitch
from stack.services.openvswitch import OvsDatabase
from stack.services.openvswitch import PortsUp
from stack.services.placement import Placement
from stack.services.placement import PlacementSchema
from stack.services.rabbitmq import Epmd
from stack.services.rabbitmq import RabbitMQ
from stack.services.second_host import SecondCompute
from stack.services.second_host import SecondLibvirt
from stack.services.second_host import SecondNamespace
from stack.services.tacker import TackerConductor
from stack.services.tacker import TackerIdentity
from stack.services.tacker import TackerSchema
from stack.services.tacker import TackerServer
from stack.services.tacker import Vim
from stack.services.watcher import WatcherApi
from stack.services.watcher import WatcherApplier
from stack.services.watcher import WatcherDecisionEngine
from stack.services.watcher import WatcherIdentity
from stack.services.watcher import WatcherSchema

# The control plane.
CONTROL: tuple[type[Service], ...] = (
    MariaDB, Epmd, RabbitMQ, KeystoneKeys, Keystone, Catalogue,
    PlacementSchema, Placement, GlanceSchema, Glance, Images, FakeNeutron,
    NovaSchema, NovaApi, NovaConductor, NovaScheduler,
)

# What makes this machine a compute node.
COMPUTE: tuple[type[Service], ...] = (MountNamespace, Libvirt, NovaCompute)

# What is added to it by name.
MORE: dict[str, tuple[type[Service], ...]] = {
    'alarms': (AodhSchema, AodhIdentity, AodhApi, AodhNotifier, AodhEvaluator),
    'dashboard': (Horizon,),
    'leases': (BlazarSchema, BlazarIdentity, BlazarApi, BlazarManager),
    'mano': (
        HeatSchema, HeatIdentity, HeatApi, HeatEngine, TackerSchema,
        TackerIdentity, TackerServer, TackerConductor, Vim),
    'network': (
        MountNamespace, OvsDatabase, OpenVSwitch, PortsUp, NeutronSchema,
        Neutron, NeutronRpc, OvsAgent, DhcpAgent, Networks),
    'optimizer': (
        WatcherSchema, WatcherIdentity, WatcherApi, WatcherDecisionEngine, WatcherApplier),
}


def chosen(more: Iterable[str], compute: bool = True,
           machines: bool = False, two_hosts: bool = False) -> list[type[Service]]:
    """Return the parts of a stack that are on this machine.

    If two have the same name, the later replaces the earlier, as Neutron
    does its stand-in.

    :param more: additions, by their names in MORE.
    :param compute: whether this machine is a compute node.
    :param machines: whether servers are virtual machines.
    :param two_hosts: whether it is two of them.
    """
    parts = (*CONTROL, *((MachineImage,) if machines else ()),
             *(COMPUTE if compute else ()),
             *((AdmissionOff, MachineCompute) if machines and compute else ()),
             *((SecondNamespace, SecondLibvirt, SecondCompute) if two_hosts else ()),
             *(part for name in more for part in MORE[name]))
    return list({part.name: part for part in parts}.values())
