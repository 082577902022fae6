# SPDX-License-Identifier: Apache-2.0
"""The library in ``jobs/``, built and called."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import ctypes
import os
from pathlib import Path
import subprocess
from typing import Any

SOURCES = Path(__file__).parents[2] / 'jobs'
FOLDER_VARIABLE = 'NOVA_RT_JOBS_DIR'
PORT_VARIABLE = 'NOVA_RT_JOBS_PORT'
# A tmpfs that every Linux has.
SHARED_MEMORY = Path('/dev/shm')  # noqa: S108
MS = 1_000_000
# A release so long ago that no deadline after it is met.
LATE = 1


def build(folder: Path) -> Path:
    """Build all into a folder, and return it; a warning is an error."""
    subprocess.run(('make', '-s', '-C', SOURCES, f'OUT={folder}', 'CFLAGS=-O2 -Werror'),
                   check=True)
    return folder


def compile_program(built: Path, source: Path, *options: str) -> Path:
    """Compile a program with the static library, and return it."""
    program = built / 'bin' / source.stem
    subprocess.run(('cc', '-O1', '-Wall', '-Werror', '-D_GNU_SOURCE', '-pthread', *options,
                    '-o', program, source, f'-I{built}/include',
                    built / 'lib' / 'libnova-rt-jobs.a'), check=True)
    return program


@contextlib.contextmanager
def running(*command: str | Path, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a program, which is killed at the end, even if it is stopped."""
    with subprocess.Popen(command, text=True, **more) as process:
        try:
            yield process
        finally:
            process.kill()


class Library:
    """The shared library, called by this process.

    :param built: where :func:`build` has built it
    """

    def __init__(self, built: Path) -> None:
        library = ctypes.CDLL(str(built / 'lib' / 'libnova-rt-jobs.so.1'), use_errno=True)
        self._open = library.nova_rt_job_open
        self._open.restype = ctypes.c_void_p
        self._begin = library.nova_rt_job_begin
        self._begin.restype = None
        self._end = library.nova_rt_job_end
        self._end.restype = None
        self._overrun = library.nova_rt_job_overrun
        self._overrun.restype = None
        self._close = library.nova_rt_job_close
        self._close.restype = None
        self._check = library.nova_rt_job_check
        self._check.restype = ctypes.c_uint64

    def open(self, name: str, period_ns: int = 10 * MS, deadline_ns: int = 10 * MS) -> Job:
        """Report an activity.

        :raises OSError: if that is not possible
        """
        handle = self._open(name.encode(), ctypes.c_uint64(period_ns),
                            ctypes.c_uint64(deadline_ns))
        if handle is None:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return Job(self, ctypes.c_void_p(handle))


class Job:
    """An activity that is reported."""

    def __init__(self, library: Library, handle: ctypes.c_void_p) -> None:
        self._library = library
        self._handle = handle

    def begin(self, released_ns: int = 0) -> None:
        """Begin a job, as of now if 0."""
        self._library._begin(self._handle, ctypes.c_uint64(released_ns))

    def end(self) -> None:
        """End the job."""
        self._library._end(self._handle)

    def miss(self) -> None:
        """Do a job whose deadline has passed when it begins."""
        self.begin(LATE)
        self.end()

    def check(self) -> int:
        """Report a job that hangs; return when to check again."""
        return int(self._library._check(self._handle))

    def overrun(self) -> None:
        """Report that a job used up its runtime."""
        self._library._overrun(self._handle)

    def close(self) -> None:
        """Report no more."""
        self._library._close(self._handle)
