# SPDX-License-Identifier: Apache-2.0
"""All that the API answers below its root; the documentation is made from it."""

from __future__ import annotations

from nova_rt import policies
from nova_rt.rest import schemas
from nova_rt.rest.endpoints import Endpoint
from nova_rt.rest.handlers import between
from nova_rt.rest.handlers import defrag
from nova_rt.rest.handlers import fit
from nova_rt.rest.handlers import hosts
from nova_rt.rest.handlers import reservations
from nova_rt.rest.handlers import servers
from nova_rt.rest.handlers import waiting

ENDPOINTS = (
    Endpoint('GET', '/hosts', hosts.list_hosts, policies.HOSTS_LIST,
             'List hosts', schemas.HOSTS, query=schemas.PAGE),
    Endpoint('GET', '/hosts/{host}', hosts.show_host, policies.HOSTS_SHOW,
             'Show a host, pCPU by pCPU, and who holds what on it', schemas.HOST,
             refusals=(404,)),
    Endpoint('POST', '/hosts/{host}/plan', defrag.plan_moves, policies.DEFRAG_PLAN,
             'Plan moves between the pCPUs of a host that make room', schemas.PLAN,
             body=schemas.ROOM, refusals=(404, 409, 415), since='1.3'),
    Endpoint('POST', '/hosts/{host}/moves', defrag.make_move, policies.DEFRAG_RUN,
             'Move a vCPU of a server to another pCPU of its host', schemas.HOST,
             body=schemas.MOVE, refusals=(404, 409, 415), since='1.3'),
    Endpoint('POST', '/plan', between.plan_between_hosts, policies.DEFRAG_PLAN_BETWEEN,
             'Plan moves and live migrations that make room on one of the hosts',
             schemas.PLAN_BETWEEN, body=schemas.ROOM_BETWEEN, refusals=(404, 409, 415),
             since='1.5'),
    Endpoint('GET', '/servers', servers.list_servers, policies.SERVERS_LIST,
             'List servers that hold a reservation', schemas.SERVERS,
             query={**schemas.PAGE, **schemas.FILTERS}),
    Endpoint('GET', '/servers/{server}', servers.show_server, policies.SERVERS_SHOW,
             'Show a server', schemas.SERVER, refusals=(404,)),
    Endpoint('GET', '/servers/{server}/usage', servers.show_usage, policies.SERVERS_USAGE,
             'Show what the kernel has given to a server on each pCPU', schemas.USAGE,
             refusals=(404, 409), since='1.9'),
    Endpoint('POST', '/servers/{server}/migration', between.migrate, policies.DEFRAG_MIGRATE,
             'Have Nova begin to migrate a server live to a host', schemas.PROGRESS,
             body=schemas.MIGRATION, refusals=(404, 409, 415), since='1.5'),
    Endpoint('GET', '/servers/{server}/migration', between.show_migration,
             policies.DEFRAG_MIGRATE, "Show how a server's newest live migration goes",
             schemas.PROGRESS, refusals=(404,), since='1.5'),
    Endpoint('PATCH', '/servers/{server}/reservation', reservations.change,
             policies.SERVERS_SET, 'Change the runtime or period of a server while it runs',
             schemas.SERVER, body=schemas.TIMES, refusals=(404, 409, 415), since='1.1'),
    Endpoint('GET', '/waiting', waiting.list_waiting, policies.WAITING_LIST,
             'List new servers that wait for room, in the order of their turns',
             schemas.WAITING, query={'project_id': schemas.FILTERS['project_id']}, since='1.6'),
    Endpoint('GET', '/projects', servers.list_projects, policies.PROJECTS_LIST,
             'List what projects hold', schemas.PROJECTS,
             query={'project_id': schemas.FILTERS['project_id']}),
    Endpoint('POST', '/why', fit.explain, policies.WHY,
             'Ask what keeps a server from each host', schemas.WHY,
             body=schemas.WHICH_SERVER, refusals=(404, 415)),
    Endpoint('POST', '/capacity', fit.capacity, policies.CAPACITY,
             'Ask how many more servers of a flavor fit', schemas.CAPACITY,
             body=schemas.NEW_SERVER, refusals=(404, 415)),
)
