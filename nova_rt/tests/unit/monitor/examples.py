# SPDX-License-Identifier: Apache-2.0
"""Records that nobody has written."""

import struct

LAYOUT = struct.Struct('=4sHH13QIIQ64s')
FIELDS = ('sequence', 'period_ns', 'deadline_ns', 'jobs', 'misses', 'consecutive',
          'last_response_ns', 'worst_response_ns', 'missed_began_ns', 'missed_response_ns',
          'began_ns', 'overruns', 'reported_ns')
USUAL = dict.fromkeys(FIELDS, 0) | {
    'sequence': 2, 'period_ns': 10_000_000, 'deadline_ns': 8_000_000, 'jobs': 5}


def pack(name=b'control', magic=b'NRTJ', version=1, size=192, **fields):
    return LAYOUT.pack(magic, version, size, *(USUAL | fields).values(), 1, 0, 1, name)


def missed(misses=1, **fields):
    """Return a record with misses."""
    return pack(misses=misses, consecutive=misses, jobs=misses, missed_response_ns=9_000_000,
                last_response_ns=9_000_000, worst_response_ns=9_000_000, **fields)
