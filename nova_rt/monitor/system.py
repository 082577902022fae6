# SPDX-License-Identifier: Apache-2.0
"""System calls that Python has no functions for."""

from __future__ import annotations

from collections.abc import Iterator
import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

# openat2(2); the number is the same on all architectures.
_OPENAT2 = 437
_HOW = struct.Struct('=QQQ')
# linux/openat2.h
RESOLVE_NO_XDEV = 0x01
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
RESOLVE_IN_ROOT = 0x10
# Only what the kernel has in memory: it asks no file system, which might not answer.
RESOLVE_CACHED = 0x20

# inotify(7)
IN_MODIFY = 0x02
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
_IN_Q_OVERFLOW = 0x4000
_IN_ONLYDIR = 0x01000000
# The kernel forgets the watch after one event, so that nobody can send a flood of them.
_IN_ONESHOT = 0x80000000
_EVENT = struct.Struct('=iIII')
_EVENTS_SIZE = 65536

_ABSOLUTE = 1
_NS_PER_S = 10 ** 9


class _Timespec(ctypes.Structure):
    _fields_ = (('seconds', ctypes.c_long), ('ns', ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (('interval', _Timespec), ('value', _Timespec))


def _checked(result: int) -> int:
    """Return the result of a call.

    :raises OSError: if it failed
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def open_below(folder: int, path: str, flags: int, resolve: int) -> int:
    """Open a file below a folder (openat2(2)).

    :param resolve: what the path may not leave or pass, RESOLVE_*
    :raises OSError: if it does, or as open(2) does
    """
    how = _HOW.pack(flags | os.O_CLOEXEC, 0, resolve)
    return _checked(_libc.syscall(
        ctypes.c_long(_OPENAT2), ctypes.c_long(folder), os.fsencode(path), how,
        ctypes.c_size_t(len(how))))


class Inotify:
    """Watches folders, each until something has happened in it once."""

    def __init__(self) -> None:
        self.fd = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def watch(self, folder: int, events: int) -> int:
        """Wait for one event in a folder; return the watch's number.

        :param folder: an open file, not a path, which may be another in a moment
        :raises OSError: if there are too many watches, or the folder is gone
        """
        return _checked(_libc.inotify_add_watch(
            self.fd, b'/proc/self/fd/%d' % folder,
            ctypes.c_uint32(events | _IN_ONLYDIR | _IN_ONESHOT)))

    def forget(self, number: int) -> None:
        """End a watch, if there is one of this number."""
        _libc.inotify_rm_watch(self.fd, number)

    def happened(self) -> set[int] | None:
        """Return the watches with an event, without waiting; None if some were lost."""
        try:
            data = os.read(self.fd, _EVENTS_SIZE)
        except BlockingIOError:
            return set()
        events = list(_events(data))
        if any(mask & _IN_Q_OVERFLOW for _, mask in events):
            return None
        return {number for number, _ in events}

    def close(self) -> None:
        """End all watches."""
        os.close(self.fd)


def _events(data: bytes) -> Iterator[tuple[int, int]]:
    offset = 0
    while offset < len(data):
        number, mask, _cookie, length = _EVENT.unpack_from(data, offset)
        offset += _EVENT.size + length
        yield number, mask


class Timer:
    """A file that can be read from a point in time of CLOCK_MONOTONIC on."""

    def __init__(self) -> None:
        self.fd = _checked(_libc.timerfd_create(
            1, os.O_NONBLOCK | os.O_CLOEXEC))  # CLOCK_MONOTONIC
        self._at_ns: int | None = None

    def set(self, at_ns: int | None) -> None:
        """Set another point in time, None for never; it can be read no more until then."""
        if at_ns == self._at_ns:
            return
        self._at_ns = at_ns
        seconds, ns = divmod(0 if at_ns is None else max(at_ns, 1), _NS_PER_S)
        _checked(_libc.timerfd_settime(
            self.fd, _ABSOLUTE,
            ctypes.byref(_Itimerspec(value=_Timespec(seconds, ns))), None))

    def close(self) -> None:
        """End it."""
        os.close(self.fd)
