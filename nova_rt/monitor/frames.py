# SPDX-License-Identifier: Apache-2.0
"""Records in a stream of bytes, which may begin or be broken anywhere."""

from nova_rt.monitor import record


class Frames:
    """Cuts a stream into what may be records."""

    def __init__(self) -> None:
        # What may be the beginning of a record.
        self._rest = b''

    def feed(self, data: bytes) -> list[bytes]:
        """Return what these bytes complete, in time that grows with their number only."""
        data = self._rest + data
        found: list[bytes] = []
        at = data.find(record.HEADER)
        while 0 <= at <= len(data) - record.SIZE:
            candidate = data[at:at + record.SIZE]
            if _is_record(candidate):
                found.append(candidate)
                at = data.find(record.HEADER, at + record.SIZE)
            else:
                at = data.find(record.HEADER, at + 1)
        # The last bytes may be the beginning of the next one.
        self._rest = data[at if at >= 0 else -(len(record.HEADER) - 1):]
        return found


def _is_record(candidate: bytes) -> bool:
    try:
        record.decode(candidate)
    except record.RecordError:
        return False
    return True
