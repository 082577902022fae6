# SPDX-License-Identifier: Apache-2.0
"""The options of nova-rt, in group ``[rt]`` of nova.conf."""

import math

from oslo_config import cfg
from oslo_config import types

from nova_rt import criticality
from nova_rt import fitting
from nova_rt import ranking

GROUP = 'rt'


class _Finite(types.Float):
    """A number between bounds; what is not a number is between any."""

    def __call__(self, value: object) -> float | None:
        """Return the number, None if none is given.

        :raises ValueError: if it is infinite, or not a number
        """
        number = super().__call__(value)
        if number is not None and not math.isfinite(number):
            raise ValueError(f'give a number, not {number}')
        return number


class _Few(types.List):
    """A list that is not of any length."""

    def __init__(self, item_type: types.ConfigType, least: int, most: int) -> None:
        super().__init__(item_type)
        self._least, self._most = least, most

    def __call__(self, value: object) -> list[object]:
        """Return the items.

        :raises ValueError: if one is wrong, or they are too few or too many
        """
        items: list[object] = super().__call__(value)
        if not self._least <= len(items) <= self._most:
            raise ValueError(f'give {self._least} to {self._most} values, not {len(items)}')
        return items


_LETTERS = [*criticality.Criticality.__members__]

COMPUTE_OPTS = [
    cfg.BoolOpt(
        'hcbs_scheduler_available', default=True,
        help="""
Whether this host offers real-time CPU reservations. If false, the host
advertises a share of 0 and no server with a reservation is placed on it. If
true on a kernel that cannot hold them (for containers, one without real-time
control groups; for virtual machines, one that refuses SCHED_DEADLINE to pinned
threads), nova-rt-compute refuses to start. Read by nova-rt-compute.
"""),
    cfg.StrOpt(
        'dialect', choices=['hcbs-multi', 'hcbs-list', 'hcbs-max'],
        help="""
Through which interface of the kernel containers get their reservations, where the kernel
has several, as nova-rt's own has with control groups version 2. By default it is the first
that the kernel has in the order given here. If the kernel lacks the one that is named,
nova-rt-compute refuses to start. Change it only while no server with a reservation is on
the host. Read by nova-rt-compute.
"""),
    cfg.StrOpt(
        'placement_policy', default=fitting.DEFAULT,
        choices=sorted(fitting.POLICIES),
        help="""
Which pCPUs a reservation gets: those with the most bandwidth left
(worst-fit), those with the least that suffices (best-fit), those with the
lowest numbers that suffice (first-fit), or those whose use takes the least room
from reservations of the sizes that the host holds (least-fragmentation). Read by
nova-rt-compute.
"""),
    cfg.Opt(
        'criticalities', default=_LETTERS,
        type=_Few(types.String(choices=_LETTERS), 1, len(_LETTERS)),
        help="""
The criticalities of the servers that this host takes; one that says none counts as
A. To keep servers of the highest criticality apart, as RT-Kube does, let some hosts
take C and the others A,B. What is on the host stays when this is changed. Read by
nova-rt-compute.
"""),
    cfg.BoolOpt(
        'defrag_on_refusal', default=False,
        help="""
Whether a claim that would be refused, although the host has enough bandwidth left in
the sum, moves up to three vCPUs of other servers between the pCPUs of the host to make
room. Each keeps its bandwidth while it is moved, but loses what its caches hold.
RTShareFilter then passes such a host if no host has room as it is. Read by
nova-rt-compute.
"""),
    cfg.BoolOpt(
        'hear_misses', default=True,
        help="""
Whether nova-rt-compute hears of the deadlines that applications say they missed. If so,
virtual machines with reservations have a virtio-serial port, org.nova_rt.jobs.0, when they
are started. Read by nova-rt-compute.
"""),
    cfg.IntOpt(
        'lend_after_misses', default=0, min=0,
        help="""
After how many misses within miss_window a container is lent what no running container has
on its pCPUs. It is given back after lend_for, and at once when another server needs it.
0 for never. Read by nova-rt-compute.
"""),
    cfg.Opt(
        'miss_window', default=1.0, type=_Finite(min=0.001),
        help="""
Within how many seconds misses are counted together. Read by nova-rt-compute.
"""),
    cfg.Opt(
        'lend_most', default=0.5, type=_Finite(min=0.01, max=1.0),
        help="""
The most that is lent on each pCPU, as a fraction of the CPU. Read by nova-rt-compute.
"""),
    cfg.Opt(
        'lend_for', default=10.0, type=_Finite(min=0.1),
        help="""
For how many seconds something is lent, from the last time that there were
lend_after_misses. Read by nova-rt-compute.
"""),
    cfg.BoolOpt(
        'shrink_elastic', default=True,
        help="""
Whether less critical servers that have a least runtime (hw:cpu.rt_min_runtime_us) are shrunk
to no less than that, while a more critical container is lent something and less than
lend_most is free. True, as nothing is taken from servers that do not say so, and nothing is
lent before lend_after_misses is set. Read by nova-rt-compute.
"""),
    cfg.BoolOpt(
        'move_on_misses', default=False,
        help="""
Whether a vCPU of a container that misses deadlines, and to which nothing can be lent where it
is, is moved to a pCPU of its host where something can. Nothing else is admitted on the host
for the time of the move, up to two periods and a second. It counts only after
lend_after_misses, and not where reservations occupy every pCPU. Read by nova-rt-compute.
"""),
    cfg.BoolOpt(
        'evict_on_misses', default=False,
        help="""
Whether a server is stopped for a more critical container that misses deadlines and is not
helped otherwise: by a loan, by elastic servers that give way, or by a move. It is one of a
lower criticality that it says itself, on the same pCPUs; none of criticality C, and no virtual
machine. It is started again when the other needs nothing more. It counts only after
lend_after_misses. As it is the applications that say what they miss, a tenant with a critical
flavor can have others' servers stopped by it. Read by nova-rt-compute.
"""),
    cfg.StrOpt(
        'evict_choice', default='share', choices=['share', 'share-and-memory', 'apart'],
        help="""
Which of the least critical servers is stopped: the one that holds most of the CPUs in
question (share), of CPUs and memory (share-and-memory), or of CPUs, but last those that share
a network with a more critical server of their project on the host (apart). Read by
nova-rt-compute.
"""),
    cfg.Opt(
        'evict_for', default=300.0, type=_Finite(min=1.0, max=86400.0),
        help="""
For how many seconds a server that was stopped for another is not started again, and its host
takes no new servers with reservations; no shorter than miss_window, so that the other has its
loan before that is over. Read by nova-rt-compute.
"""),
    cfg.StrOpt(
        'cpu_set',
        help="""
The pCPUs that may hold reservations, as a list of numbers and ranges, for
example 2-7,10. What follows a caret is left out, as in Nova's own options:
2-7,^4 are 2, 3, 5, 6 and 7. All online pCPUs if not set. Read by
nova-rt-compute.
"""),
]

EXPORTER_OPTS = [
    cfg.HostAddressOpt(
        'metrics_address', default='127.0.0.1',
        help="""
The address at which nova-rt-exporter listens. Whoever reaches it sees the uuids
and projects of the servers on this host: choose one of the network on which
Prometheus is. Read by nova-rt-exporter.
"""),
    cfg.PortOpt(
        'metrics_port', default=9942,
        help="""
The port at which nova-rt-exporter listens. Read by nova-rt-exporter.
"""),
]

COMMON_OPTS = [
    cfg.Opt(
        'cap', default=0.95, type=_Finite(min=0.01, max=1.0),
        help="""
The largest bandwidth that reservations may have on one pCPU, as a fraction of
the CPU. What a host admits is this or what its kernel admits, whichever is
smaller; leave room below it for SCHED_DEADLINE tasks of the host's own. Read by
nova-rt-compute, and by nova-api, which refuses a reservation over the cap at
once: set the largest cap of the cloud there.
"""),
]

SCHEDULER_OPTS = [
    cfg.StrOpt(
        'host_preference', default='spread', choices=['spread', 'pack'],
        help="""
Which host RTShareWeigher prefers: the one that keeps the most bandwidth on
the fullest pCPU that the reservation needs (spread), or the one that keeps
the least (pack). A server that says its criticality prefers hosts by that
instead: A those with the least share left, C those with the most, and B those
between. Read by nova-scheduler.
"""),
    cfg.Opt(
        'criticality_b_turn', default=ranking.TURN, type=_Finite(min=0.0, max=1.0),
        help="""
The fraction x of a host's share that a server of criticality B likes best to leave:
up to it hosts are ranked by the first of the following functions, from there on by
the second. RT-Kube's 1/K. Read by nova-scheduler.
"""),
    cfg.Opt(
        'criticality_b_rise', default=[*ranking.RISE], type=_Few(_Finite(), 2, 2),
        help="""
a and b of the first function, ax + b. Read by nova-scheduler.
"""),
    cfg.Opt(
        'criticality_b_fall', default=[*ranking.FALL], type=_Few(_Finite(), 3, 3),
        help="""
a, b and c of the second function, ax² + bx + c. Read by nova-scheduler.
"""),
    cfg.Opt(
        'weight_multiplier', default=1.0, type=_Finite(),
        help="""
How much RTShareWeigher counts beside the other weighers; 0 turns it off. Read
by nova-scheduler.
"""),
]

CONDUCTOR_OPTS = [
    cfg.Opt(
        'wait_for_room', default=0.0, type=_Finite(min=0.0, max=172800.0),
        help="""
For how many seconds a new server that finds no host, because reservations of others have taken
the room, waits for it instead of failing; 0 for not at all. At most 3600, as the user's token
is needed in the end, or with [service_user] send_service_user_token two days, 172800. Of those
who wait, the most critical is placed first, then the one that has waited longest. A server that
was asked for together with others, or with files in it, does not wait. Read by
nova-rt-conductor, which has to run in place of every nova-conductor that handles requests of
nova-api.
"""),
    cfg.StrOpt(
        'preempt', default='never', choices=['never', 'elastic'],
        help="""
What is taken from less critical servers for one that waits for room: nothing (never), or what
those with a least runtime (hw:cpu.rt_min_runtime_us) have above it (elastic). Only servers that
say a lower criticality are shrunk, only for one that says its own, and by no more than is
needed. They have all of it again when there is room. It needs wait_for_room. Read by
nova-rt-conductor.
"""),
]

OPTS = COMMON_OPTS + COMPUTE_OPTS + SCHEDULER_OPTS + CONDUCTOR_OPTS + EXPORTER_OPTS


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options; registering them again does nothing."""
    # A new group each time: its copies would share what tests override.
    conf.register_group(_group())
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return the options for oslo-config-generator and the documentation."""
    return [(_group(), OPTS)]


def _group() -> cfg.OptGroup:
    return cfg.OptGroup(
        GROUP, title='Real-time CPU reservations',
        help='Real-time CPU reservations (nova-rt).')
