# SPDX-License-Identifier: Apache-2.0
"""The options of these tests, in group ``[nova_rt]`` of tempest.conf."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'nova_rt', title='Real-time CPU reservations',
    help='What the tests of nova-rt need to know about the cloud.')

CONTAINER, MACHINE = 'container', 'machine'

OPTS = [
    cfg.StrOpt(
        'kind', default=CONTAINER, choices=(CONTAINER, MACHINE),
        help="""
What the images and flavors of the tests become: a container or a virtual machine.
Tests that are for the other kind only are skipped.
"""),
    cfg.StrOpt(
        'meter_image_ref',
        help="""
Id of an image whose servers are measured. A container measures the CPU time that it
gets itself: one thread on each of its CPUs runs a busy loop under SCHED_FIFO, and
repeatedly writes a line "CPU USED PASSED", the CPU's number and two times in
microseconds, to the console. A virtual machine only keeps all of its vCPUs busy: the
administrator asks Nova's diagnostics for the CPU time of each vCPU's thread. Tests that
measure are skipped if this is not set.
"""),
    cfg.FloatOpt(
        'tolerance', default=0.02, min=0.001, max=0.5,
        help="""
The largest difference between measured and reserved share, as a fraction of a CPU.
"""),
    cfg.FloatOpt(
        'cap', default=0.95, min=0.01, max=1.0,
        help="""
The largest [rt] cap in the cloud, as configured for nova-api.
"""),
    cfg.StrOpt(
        'vnf_package',
        help="""
Path of a VNF package (CSAR) to instantiate through Tacker, whose VDUs ask for
reservations. Tests of VNFs are skipped if this is not set.
"""),
    cfg.StrOpt(
        'vnf_flavor', default='vnf',
        help="""
Name of the flavor that the VNF package expects; it is created if missing.
"""),
    cfg.StrOpt(
        'vnf_network_id',
        help="""
Id of the network to which the VNF's connection point is attached. Not set if the
VNF has only internal networks.
"""),
    cfg.StrOpt(
        'vnf_connection_point',
        help="""
Name of the VNFD's connection point that needs an external network.
"""),
    cfg.StrOpt(
        'vnf_user_data', default='tacker_rt/user_data.py',
        help='Path of the user data script, in the VNF package or installed with Tacker.'),
    cfg.StrOpt(
        'vnf_user_data_class', default='StandardUserData',
        help='Class of the user data.'),
]
