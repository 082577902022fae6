# SPDX-License-Identifier: Apache-2.0
"""Records in a stream of bytes, which may begin or be broken anywhere."""

from nova_rt.monitor import record


class Frames:
    """Cuts a stream into what may be records."""

    def __init__(self) -> None:
        # What may be the beginning of a record.
        self._rest = b''

    def feed(self, data: bytes) -> list[bytes]:
        """Return what these bytes complete."""
        self._rest += data
        found: list[bytes] = []
        while (candidate := self._next()) is not None:
            if _is_record(candidate):
                found.append(candidate)
                self._rest = self._rest[record.SIZE:]
            else:
                self._rest = self._rest[1:]
        return found

    def _next(self) -> bytes | None:
        """Drop what precedes the next candidate; return it, None if it is incomplete."""
        at = self._rest.find(record.MAGIC)
        # The last bytes may be the beginning of the next one.
        self._rest = self._rest[at if at >= 0 else -(len(record.MAGIC) - 1):]
        return self._rest[:record.SIZE] if len(self._rest) >= record.SIZE else None


def _is_record(candidate: bytes) -> bool:
    try:
        record.decode(candidate)
    except record.RecordError:
        return False
    return True
