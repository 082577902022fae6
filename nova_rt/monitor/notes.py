# SPDX-License-Identifier: Apache-2.0
"""What virtual machines have told, kept for the exporter and for the next service.

A container's records stay where it writes them. What came by a port is read once, so the
last record of each activity is written to a file on a file system that a boot empties.
"""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import os
import pathlib

from nova_rt.monitor import record

FOLDER = pathlib.Path('/run/nova-rt/heard')
# More activities than the host looks at.
MOST = 64


class Notes:
    """Of one start of one virtual machine.

    :param number: libvirt's id of its domain, which is another after each start
    """

    def __init__(self, server: str, number: int) -> None:
        self._path = FOLDER / f'{server}.{number}'
        self._forget_earlier(server)
        # By activity, the one that was heard of last at the end.
        self._frames = {_name(frame): frame for frame in _frames_in(self._path)}

    def frames(self) -> list[bytes]:
        """Return the last record of each activity."""
        return list(self._frames.values())

    def add(self, frames: Iterable[bytes]) -> None:
        """Note what has been heard.

        :param frames: records
        :raises OSError: if it cannot be written; it is known to this process then
        """
        before = dict(self._frames)
        for frame in frames:
            self._frames.pop(_name(frame), None)
            self._frames[_name(frame)] = frame
        while len(self._frames) > MOST:
            del self._frames[next(iter(self._frames))]
        if self._frames != before:
            self._write()

    def _forget_earlier(self, server: str) -> None:
        """Forget starts that ended without a service."""
        for path in FOLDER.glob(f'{server}.*'):
            if path != self._path:
                path.unlink(missing_ok=True)

    def _write(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        new = self._path.with_name(f'.{self._path.name}')
        new.write_bytes(b''.join(self._frames.values()))
        os.replace(new, self._path)

    def forget(self) -> None:
        """Forget all, as the virtual machine has ended."""
        self._path.unlink(missing_ok=True)


def records_of(server: str, number: int) -> list[record.Record]:
    """Return the last record of each activity of a virtual machine.

    :param number: libvirt's id of its domain
    """
    found = []
    for frame in _frames_in(FOLDER / f'{server}.{number}'):
        with contextlib.suppress(record.RecordError):
            found.append(record.decode(frame))
    return found


def _frames_in(path: pathlib.Path) -> list[bytes]:
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return [data[at:at + record.SIZE] for at in range(0, len(data), record.SIZE)]


def _name(frame: bytes) -> bytes:
    return frame[record.NAME_AT:]
