# SPDX-License-Identifier: Apache-2.0
"""The notes of what containers have for a while: a file for each group, in one folder.

Who lends reads all of them several times, and somebody misses deadlines meanwhile. So what a
file says is remembered for as long as it is the same file: each note is written anew, and then
renamed (:meth:`Notebook.write`), whichever process does it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
from typing import Generic
from typing import TypeVar
from urllib import parse

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

Note = TypeVar('Note')


class Notebook(Generic[Note]):
    """The files of a folder. Nothing is in it before it is made.

    :param folder: on a file system that a boot empties
    :param read: returns what a file says
    """

    def __init__(self, folder: pathlib.Path,
                 read: Callable[[pathlib.Path], Note | None]) -> None:
        self.folder = folder
        self._read = read
        # By name, which file it was, and what it said.
        self._known: dict[str, tuple[tuple[int, int, int], Note]] = {}
        self._names: dict[str, str] = {}

    def of(self, group: str) -> Note | None:
        """Return what is noted of a group, None if nothing."""
        return self._of(self._name(group))

    def __iter__(self) -> Iterator[Note]:
        """Yield all of them."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            # What begins with a dot is being written.
            for name in sorted(os.listdir(self.folder)):
                if not name.startswith('.') and (note := self._of(name)) is not None:
                    yield note

    def _of(self, name: str) -> Note | None:
        path = f'{self.folder}/{name}'
        try:
            found = os.stat(path)
        except OSError:
            self._known.pop(name, None)
            return None
        which = found.st_ino, found.st_mtime_ns, found.st_size
        known = self._known.get(name)
        if known is not None and known[0] == which:
            return known[1]
        note = self._read(pathlib.Path(path))
        if note is None:
            # It may be readable the next time.
            self._known.pop(name, None)
        else:
            self._known[name] = which, note
        return note

    def write(self, group: str, told: object) -> None:
        """Note something of a group, as JSON.

        :raises OSError: if that is not possible
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        name = self._name(group)
        new = f'{self.folder}/.{name}'
        with open(new, 'w', encoding='utf-8') as file:
            file.write(json.dumps(told))
        os.replace(new, f'{self.folder}/{name}')
        self._known.pop(name, None)

    def forget(self, group: str) -> None:
        """Remove a note, if that is possible: what it says is held against the kernel."""
        name = self._name(group)
        self._known.pop(name, None)
        self._names.pop(group, None)
        path = f'{self.folder}/{name}'
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        except OSError as exc:
            LOG.warning('%s is over, but cannot be removed: %s', path, exc)

    def _name(self, group: str) -> str:
        if group not in self._names:
            self._names[group] = parse.quote(group, safe='')
        return self._names[group]
