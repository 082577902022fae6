# SPDX-License-Identifier: Apache-2.0
"""The kernel's own admission of SCHED_DEADLINE, off while virtual machines run."""

from collections.abc import Sequence
import os
from pathlib import Path
import sys

from stack import admission
from stack.service import Service


class AdmissionOff(Service):
    """The process that sets kernel.sched_rt_runtime_us to -1, and back at its end.

    At its end is also when the program that started the stack is killed, unless that
    has left the stack running on purpose.
    """

    name = 'nova-rt-admission'
    patience = 1200.0  # another may hold the lock

    def command(self) -> Sequence[str]:
        """Return its command line."""
        return (sys.executable, '-m', 'stack.admission', str(self.site.rundir.data),
                str(os.getpid()))

    def ready(self) -> bool:
        """Whether it is set."""
        return self._set.exists()

    @property
    def _set(self) -> Path:
        return self.site.rundir.data / admission.SET
