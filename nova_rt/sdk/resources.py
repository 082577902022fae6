# SPDX-License-Identifier: Apache-2.0
"""What the API tells, as openstacksdk's resources.

Bandwidths and shares are in fixed point: 1048576 is one CPU (:mod:`nova_rt.bandwidth`).
"""

from __future__ import annotations

from openstack import resource


class Host(resource.Resource):
    """A compute host; its name is unique, its id that of its compute node.

    :ivar trouble: why no server is placed on it; empty if they are
    :ivar most_left: on the pCPU that has the most left
    :ivar criticalities: of the servers that it takes
    :ivar pcpus, holdings: what each pCPU offers, and who holds what; None in a list
    """

    uuid = resource.Body('uuid', alternate_id=True)
    name = resource.Body('host')
    kind = resource.Body('kind')
    dialect = resource.Body('dialect')
    placement_policy = resource.Body('placement_policy')
    trouble = resource.Body('trouble')
    cap = resource.Body('cap', type=int)
    share = resource.Body('share', type=int)
    share_used = resource.Body('share_used', type=int)
    pcpus_offered = resource.Body('pcpus_offered', type=int)
    most_left = resource.Body('most_left', type=int)
    criticalities = resource.Body('criticalities', type=list)
    pcpus = resource.Body('pcpus', type=list)
    holdings = resource.Body('holdings', type=list)


class Server(resource.Resource):
    """A server.

    :ivar reservation: runtime_us, period_us, vcpus and bandwidth; None without one
    :ivar host: None for those who may not see it
    :ivar owed_us: the runtime that it has again when there is room; None if it is not shrunk
    """

    uuid = resource.Body('server', alternate_id=True)
    name = resource.Body('name')
    project_id = resource.Body('project_id')
    status = resource.Body('status')
    kind = resource.Body('kind')
    reservation = resource.Body('reservation', type=dict)
    pcpus = resource.Body('pcpus', type=list)
    host = resource.Body('host')
    criticality = resource.Body('criticality')
    owed_us = resource.Body('owed_us', type=int)


class Usage(resource.Resource):
    """What the kernel has given to a server on a pCPU since it started.

    What the kernel does not count is None.

    :ivar enforced: the bandwidth that the kernel holds for it, in fixed point
    :ivar used_us: CPU time
    :ivar waited_us: for how long it was ready, and waited for its budget or its turn
    :ivar throttled: how often its budget was used up before a period ended
    :ivar overruns: how often it had used more than its budget when it was stopped
    """

    pcpu = resource.Body('pcpu', type=int, alternate_id=True)
    enforced = resource.Body('enforced', type=int)
    used_us = resource.Body('used_us', type=int)
    waited_us = resource.Body('waited_us', type=int)
    throttled = resource.Body('throttled', type=int)
    overruns = resource.Body('overruns', type=int)


class Waiting(resource.Resource):
    """A new server that waits for room.

    :ivar place: from 1, among all that wait
    :ivar since, until: since when it waits, and when it fails instead
    :ivar reason: why it was refused last
    """

    uuid = resource.Body('server', alternate_id=True)
    name = resource.Body('name')
    project_id = resource.Body('project_id')
    criticality = resource.Body('criticality')
    place = resource.Body('place', type=int)
    since = resource.Body('since')
    until = resource.Body('until')
    reason = resource.Body('reason')


class Project(resource.Resource):
    """What the servers of a project hold together."""

    project_id = resource.Body('project_id', alternate_id=True)
    servers = resource.Body('servers', type=int)
    vcpus = resource.Body('vcpus', type=int)
    share = resource.Body('share', type=int)


class Plan(resource.Resource):
    """Moves that make room on a host, in their order.

    :ivar moves: each with server, name, source, target and bandwidth
    :ivar proof: a sentence on whether there are fewer
    :ivar pcpus: what each has left before and after
    """

    reservation = resource.Body('reservation', type=dict)
    moves = resource.Body('moves', type=list)
    proof = resource.Body('proof')
    pcpus = resource.Body('pcpus', type=list)


class PlanBetweenHosts(resource.Resource):
    """Moves and live migrations that make room on a host, in their order.

    :ivar host: that has the room at the end
    :ivar steps: each with step (move or migration), server, name, bandwidth and host; a move
        with source and target, a migration with target_host and memory_mb
    :ivar cost: 1 for a move, the memory in MiB and 1024 more for a migration
    :ivar proof: a sentence on whether a plan may cost less
    :ivar hosts: that it changes, with what each pCPU has left before and after
    """

    reservation = resource.Body('reservation', type=dict)
    host = resource.Body('host')
    steps = resource.Body('steps', type=list)
    cost = resource.Body('cost', type=int)
    proof = resource.Body('proof')
    hosts = resource.Body('hosts', type=list)


class Progress(resource.Resource):
    """How a server's newest live migration goes.

    :ivar host: where the server is now
    :ivar under_way: whether Nova is still at it
    :ivar target: where it was to go
    :ivar status: Nova's word for the migration, None if there was none
    :ivar reason: why it failed; empty if it did not
    """

    uuid = resource.Body('server', alternate_id=True)
    host = resource.Body('host')
    under_way = resource.Body('under_way', type=bool)
    target = resource.Body('target')
    status = resource.Body('status')
    reason = resource.Body('reason')
