# SPDX-License-Identifier: Apache-2.0
"""The options of these tests, in group ``[nova_rt]`` of tempest.conf."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'nova_rt', title='Real-time CPU reservations',
    help='What the tests of nova-rt must be told of the cloud.')

OPTS = [
    cfg.StrOpt(
        'meter_image_ref',
        help="""
Id of an image whose containers measure what they get: one thread on each of
their CPUs burns CPU under SCHED_FIFO, and again and again a line "CPU USED
PASSED", the CPU's number and two times in microseconds, is written to the
console. Tests that measure are skipped if not set.
"""),
    cfg.FloatOpt(
        'tolerance', default=0.02, min=0.001, max=0.5,
        help="""
How far a measured share may be from the one reserved, as a fraction of a CPU.
"""),
    cfg.FloatOpt(
        'cap', default=0.95, min=0.01, max=1.0,
        help="""
The largest [rt] cap of the cloud, as nova-api has it.
"""),
    cfg.StrOpt(
        'vnf_package',
        help="""
Path of a VNF package (CSAR) that is instantiated through Tacker and whose VDUs
ask for reservations. Tests of VNFs are skipped if not set.
"""),
    cfg.StrOpt(
        'vnf_flavor', default='vnf',
        help="""
Name of the flavor that the VNF package expects; it is made if there is none.
"""),
    cfg.StrOpt(
        'vnf_network_id',
        help="""
Id of the network that the VNF's connection point is on. None if the VNF is on
networks of its own alone.
"""),
    cfg.StrOpt(
        'vnf_connection_point',
        help="""
Name of the VNFD's connection point that needs a network from outside the VNF.
"""),
    cfg.StrOpt(
        'vnf_user_data', default='tacker_rt/user_data.py',
        help='Path of the user data script in the VNF package or of Tacker.'),
    cfg.StrOpt(
        'vnf_user_data_class', default='StandardUserData',
        help='Class of the user data.'),
]
