# SPDX-License-Identifier: Apache-2.0
"""What the API takes and gives, as JSON Schema.

Bandwidths and shares are in fixed point: 1048576 is one CPU (:mod:`nova_rt.bandwidth`).
"""

from __future__ import annotations

from collections.abc import Mapping

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import kinds
from nova_rt.defrag import planner
from nova_rt.defrag.limits import Limits
from nova_rt.rest.endpoints import Schema

_TEXT = {'type': 'string'}
_NUMBER = {'type': 'integer'}
_COUNT = {'type': 'integer', 'minimum': 0}
_UUID = {'type': 'string', 'format': 'uuid',
         'pattern': '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'}
_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 255,
         'pattern': '^[^\\u0000-\\u001f]+$'}
_TIME_US = {'type': 'integer', 'description': 'in microseconds'}
_SHARE = {'type': 'integer', 'description': 'in fixed point: 1048576 is one CPU'}
_PCPUS = {'type': 'array', 'items': _COUNT}


def _object(properties: Mapping[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    return {'type': 'object', 'properties': dict(properties),
            'required': [name for name in properties if name not in optional],
            'additionalProperties': False}


def _or_null(schema: Schema) -> Schema:
    return {'anyOf': [schema, {'type': 'null'}]}


def _list(schema: Schema) -> Schema:
    return {'type': 'array', 'items': schema}


PAGE: Mapping[str, Schema] = {
    'limit': {'type': 'integer', 'minimum': 1, 'maximum': 1000, 'default': 1000,
              'description': 'how many at most'},
    'marker': {**_UUID, 'description': 'the last uuid of the page before'},
}
FILTERS: Mapping[str, Schema] = {
    'project_id': {**_NAME, 'description': 'only of this project'},
    'host': {**_NAME, 'description': 'only on this host'},
}
# Where a page ends, and which cells did not answer.
_END: Mapping[str, Schema] = {
    'next': {**_or_null(_UUID), 'description': 'the marker of the next page, if any'},
    'unreachable_cells': _list(_TEXT),
}

RESERVATION = _object({
    'runtime_us': _TIME_US, 'period_us': _TIME_US, 'vcpus': _COUNT,
    'bandwidth': _SHARE})
_KIND = {'enum': [*(kind.value for kind in kinds.Kind), None]}
_LETTERS = [*criticality.Criticality.__members__]

_HOST: Mapping[str, Schema] = {
    'uuid': _UUID, 'host': _TEXT, 'kind': _KIND, 'dialect': _TEXT,
    'placement_policy': {'type': ['string', 'null']},
    'trouble': {'type': 'string',
                'description': 'why no server is placed on it; empty if they are'},
    'cap': {**_SHARE, 'description': 'the most that one pCPU offers'},
    'share': _SHARE, 'share_used': _SHARE, 'pcpus_offered': _COUNT,
    'most_left': {**_SHARE, 'description': 'on the pCPU that has the most left'},
    'criticalities': {**_list({'enum': _LETTERS}),
                      'description': 'since 1.4: of the servers that it takes'},
}
_SINCE_1_4 = ('criticalities', 'criticality')
HOSTS = _object({'hosts': _list(_object(_HOST, _SINCE_1_4)), **_END})
HOST = _object({**_HOST, 'pcpus': _list(_object({
    'pcpu': _COUNT, 'capacity': _SHARE, 'used': _SHARE, 'left': _SHARE})),
    'holdings': _list(_object({
        'server': _UUID, 'name': _TEXT, 'project_id': _TEXT,
        'reservation': RESERVATION, 'pcpus': _PCPUS}))}, _SINCE_1_4)

_SERVER: Mapping[str, Schema] = {
    'server': _UUID, 'name': _TEXT, 'project_id': _TEXT, 'status': _TEXT,
    'kind': _KIND, 'reservation': _or_null(RESERVATION), 'pcpus': _PCPUS,
    'host': {'type': ['string', 'null'], 'description': 'for those who may see it'},
    'criticality': {'enum': [*_LETTERS, None],
                    'description': 'since 1.4: that it says; A counts where it says none'},
    'owed_us': {**_or_null(_TIME_US),
                'description': 'since 1.7: the runtime that it had before it was shrunk for a '
                               'more critical server, and has again when there is room'},
}
SERVER = _object(_SERVER, ('host', *_SINCE_1_4, 'owed_us'))
SERVERS = _object({'servers': _list(SERVER), **_END})

# Null is what the kernel does not count.
_COUNTED = _or_null(_COUNT)
USAGE = _object({'pcpus': _list(_object({
    'pcpu': _COUNT,
    'enforced': {**_SHARE, 'description': 'what the kernel holds for it'},
    'used_us': {**_COUNTED, 'description': 'CPU time since it started'},
    'waited_us': {**_COUNTED,
                  'description': 'how long it was ready, and denied the CPU'},
    'throttled': {**_COUNTED, 'description': 'how often its budget ended before the period'},
    'overruns': {**_COUNTED, 'description': 'how often it had used more than its budget'}}))})

# Either may be left out, or both, to finish what was interrupted.
TIMES = _object({name: {**_TIME_US, 'minimum': 1, 'maximum': bandwidth.MAX_PERIOD_US}
                 for name in ('runtime_us', 'period_us')}, ('runtime_us', 'period_us'))

PROJECTS = _object({'projects': _list(_object({
    'project_id': _TEXT, 'servers': _COUNT, 'vcpus': _COUNT, 'share': _SHARE})),
    'unreachable_cells': _list(_TEXT)})

_TIME = {'type': 'string', 'description': 'UTC, such as 2026-11-27T00:00:00Z'}
_WAITING = _object({
    'server': _UUID, 'name': _TEXT, 'project_id': _TEXT,
    'criticality': {'type': ['string', 'null'], 'enum': [*criticality.Criticality.__members__,
                                                         None]},
    'place': {'type': 'integer', 'minimum': 1, 'description': 'among all that wait'},
    'since': _TIME, 'until': {**_TIME, 'description': 'when it fails instead; UTC'},
    'reason': {'type': 'string', 'description': 'why it was refused last'}})
WAITING = _object({'waiting': _list(_WAITING)})

_HINTS = {'type': 'object', 'description': 'as a server is created with them',
          'additionalProperties': {'anyOf': [_TEXT, _NUMBER, _list(_TEXT)]}}
_FLAVOR: Schema = {**_NAME, 'description': 'id or name'}
NEW_SERVER = _object({'flavor': _FLAVOR, 'hints': _HINTS}, ('hints',))
WHICH_SERVER: Schema = {
    'type': 'object',
    'properties': {'server': _UUID, 'flavor': _FLAVOR, 'hints': _HINTS},
    'additionalProperties': False,
    'oneOf': [{'required': ['server'], 'not': {'required': ['hints']}},
              {'required': ['flavor']}],
}
# What moves are to make room for, without a flavor a balance; and how far to look for them.
ROOM: Schema = {
    **_object({
        'flavor': _FLAVOR, 'hints': _HINTS,
        'max_moves': {'type': 'integer', 'minimum': 1, 'maximum': 32,
                      'default': planner.AT_DESK, 'description': 'how many moves at most'},
        'seconds': {'type': 'integer', 'minimum': 1, 'maximum': 10, 'default': 2,
                    'description': 'how long to look for fewer moves'}},
        ('flavor', 'hints', 'max_moves', 'seconds')),
    'dependentRequired': {'hints': ['flavor']}}
PLAN = _object({
    'reservation': {**_or_null(RESERVATION), 'description': 'that of the flavor'},
    'moves': {**_list(_object({'server': _UUID, 'name': _TEXT, 'source': _COUNT,
                               'target': _COUNT, 'bandwidth': _SHARE})),
              'description': 'in an order in which they can be made'},
    'proof': {'type': 'string', 'description': 'whether fewer moves would do, a sentence'},
    'pcpus': _list(_object({'pcpu': _COUNT, 'capacity': _SHARE, 'left_before': _SHARE,
                            'left_after': _SHARE}))})
_PCPU = {'type': 'integer', 'minimum': 0, 'maximum': 65535}
MOVE = _object({'server': _UUID, 'source': {**_PCPU, 'description': 'the pCPU that it leaves'},
                'target': {**_PCPU, 'description': 'the pCPU that it then runs on'}})

_SECONDS = {'type': 'integer', 'minimum': 1, 'maximum': 10, 'default': 2}
ROOM_BETWEEN = _object({
    'flavor': _FLAVOR, 'hints': _HINTS,
    'host': {**_NAME, 'description': 'where the room is to be; any host by default'},
    'max_moves': {'type': 'integer', 'minimum': 1, 'maximum': 32, 'default': Limits().steps,
                  'description': 'how many moves and migrations at most'},
    'max_migrations': {'type': 'integer', 'minimum': 0, 'maximum': 8,
                       'default': Limits().migrations,
                       'description': 'how many of these are migrations, at most; 0, which '
                                      'is for moves only, since 1.8'},
    'seconds': {**_SECONDS, 'description': 'how long to look for a cheaper plan'}},
    ('hints', 'host', 'max_moves', 'max_migrations', 'seconds'))
_OR_NONE = {**_or_null(_COUNT), 'description': 'of a move; null for a migration'}
PLAN_BETWEEN = _object({
    'reservation': {**RESERVATION, 'description': 'that of the flavor'},
    'host': {'type': 'string', 'description': 'that has the room at the end'},
    'steps': {**_list(_object({
        'step': {'enum': ['move', 'migration']}, 'server': _UUID, 'name': _TEXT,
        'bandwidth': _SHARE, 'host': {'type': 'string', 'description': 'that it is on'},
        'target_host': {'type': ['string', 'null'],
                        'description': 'of a migration; null for a move'},
        'memory_mb': _or_null(_COUNT), 'source': _OR_NONE, 'target': _OR_NONE})),
        'description': 'moves of vCPUs and live migrations, in an order in which they can '
                       'be made'},
    'cost': {**_COUNT, 'description': 'a move costs 1, a migration its memory in MiB and '
                                      '1024 more'},
    'proof': {'type': 'string', 'description': 'whether a plan may cost less, a sentence'},
    'hosts': {**_list(_object({
        'host': _TEXT, 'pcpus': _list(_object({
            'pcpu': _COUNT, 'capacity': _SHARE, 'left_before': _SHARE,
            'left_after': _SHARE}))})),
        'description': 'those that the plan changes, and the one that has the room'}})
MIGRATION = _object({'source': {**_NAME, 'description': 'the host that it is on'},
                     'target': {**_NAME, 'description': 'the host that it is to go to'}})
PROGRESS = _object({
    'server': _UUID, 'host': {'type': ['string', 'null'], 'description': 'where it is now'},
    'under_way': {'type': 'boolean', 'description': 'whether Nova is still at it'},
    'target': {'type': ['string', 'null'], 'description': 'where it was to go'},
    'status': {'type': ['string', 'null'], 'description': "Nova's word for the migration"},
    'reason': {'type': 'string', 'description': 'why it failed; empty if it did not'}})

_WHAT = {'type': 'string', 'description':
         'pCPUs, a resource class, trait, zone, aggregate, filter, host, kind, criticality, '
         'nearest for what would fit instead, since 1.3 moves that would make room, or empty for '
         'the whole host; quota and together for all hosts'}
_SHORTFALLS = _list(_object({'what': _WHAT, 'needed': _TEXT, 'left': _TEXT, 'missing': _TEXT,
                             'sentence': _TEXT}))
_SINCE_1_10: Mapping[str, Schema] = {'unreachable_cells': {
    **_list(_TEXT), 'description': 'since 1.10: cells whose hosts are left out'}}
WHY = _object({
    'reservation': _or_null(RESERVATION),
    'fault': {'type': 'string', 'description': 'what Nova recorded last, if anything'},
    'shortfalls': {**_SHORTFALLS, 'description': 'since 1.2: whatever the host'},
    'hosts': _list(_object({
        'host': _TEXT, 'fits': {'type': 'boolean'}, 'shortfalls': _SHORTFALLS})),
    'waiting': {**_or_null(_WAITING),
                'description': 'since 1.6: if it waits for room, how'},
    **_SINCE_1_10},
    ('shortfalls', 'waiting', *_SINCE_1_10))
CAPACITY = _object({
    'reservation': _or_null(RESERVATION), 'total': _COUNT,
    'hosts': _list(_object({
        'host': _TEXT, 'servers': _COUNT,
        'limit': {'type': 'string', 'description': 'why there are no more, a sentence'}})),
    'quotas': {**_list(_object({
        'owner': {'type': 'string', 'enum': ['project', 'user']},
        'resource': {'type': 'string', 'enum': ['instances', 'cores', 'ram', 'share']},
        'servers': {**_COUNT, 'description': 'how many more it lets run'},
        'sentence': _TEXT})),
        'description': "since 1.2: the caller's, but unlimited ones"},
    **_SINCE_1_10}, ('quotas', *_SINCE_1_10))
ERROR = _object({'errors': _list(_object({
    'status': _NUMBER, 'title': _TEXT, 'detail': _TEXT, 'request_id': _TEXT}))})
