# SPDX-License-Identifier: Apache-2.0
"""Processes that stand in for containers."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys


class Container:
    """A process with a mount namespace of its own and a tmpfs on /run; needs root.

    :ivar pid: its number
    :ivar jobs: where the applications in it keep their records
    """

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ('unshare', '--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /run; echo; exec cat'),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        (self.process.stdout or sys.stdin.buffer).readline()
        self.pid = self.process.pid
        self.root = Path(f'/proc/{self.pid}/root')
        self.jobs = self.root / 'run' / 'nova-rt' / 'jobs'

    def make_folder(self) -> None:
        """Make the folder of the records."""
        self.jobs.mkdir(parents=True)

    def run(self, script: str) -> None:
        """Run a script in it."""
        subprocess.run(('nsenter', '--target', str(self.pid), '--mount', 'sh', '-ec', script),
                       check=True)

    def end(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()
