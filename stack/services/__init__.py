# SPDX-License-Identifier: Apache-2.0
"""The parts of the stack, one class each."""

from stack.service import Service
from stack.services.answers import NeutronAnswers
from stack.services.glance import Glance
from stack.services.glance import GlanceSchema
from stack.services.glance import Images
from stack.services.heat import HeatApi
from stack.services.heat import HeatEngine
from stack.services.heat import HeatIdentity
from stack.services.heat import HeatSchema
from stack.services.keystone import Catalogue
from stack.services.keystone import Keystone
from stack.services.keystone import KeystoneKeys
from stack.services.libvirt import Libvirt
from stack.services.libvirt import MountNamespace
from stack.services.mariadb import MariaDB
from stack.services.nova import NovaApi
from stack.services.nova import NovaCompute
from stack.services.nova import NovaConductor
from stack.services.nova import NovaScheduler
from stack.services.nova import NovaSchema
from stack.services.placement import Placement
from stack.services.placement import PlacementSchema
from stack.services.rabbitmq import Epmd
from stack.services.rabbitmq import RabbitMQ
from stack.services.tacker import TackerConductor
from stack.services.tacker import TackerIdentity
from stack.services.tacker import TackerSchema
from stack.services.tacker import TackerServer
from stack.services.tacker import Vim

# What one machine needs.
ALL: tuple[type[Service], ...] = (
    MariaDB, Epmd, RabbitMQ, KeystoneKeys, Keystone, Catalogue,
    PlacementSchema, Placement, GlanceSchema, Glance, Images, NeutronAnswers,
    MountNamespace, Libvirt, NovaSchema, NovaApi, NovaConductor,
    NovaScheduler, NovaCompute,
)

# What is added to it by name.
MORE: dict[str, tuple[type[Service], ...]] = {
    'mano': (
        HeatSchema, HeatIdentity, HeatApi, HeatEngine, TackerSchema,
        TackerIdentity, TackerServer, TackerConductor, Vim),
}
