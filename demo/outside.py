# SPDX-License-Identifier: Apache-2.0
"""A hog outside of all servers."""

import subprocess

from stack.cloud import Cloud
from stack.image import build


class Hog:
    """Burns CPU outside of all servers, while the context lasts.

    :param policy: other, fifo or rr.
    :param cpu: where it is pinned; None: on every pCPU.
    :param seconds: after which it ends by itself, if the demo dies.
    """

    def __init__(self, cloud: Cloud, policy: str, priority: str, cpu: int | None,
                 seconds: float) -> None:
        self._processes = cloud.site.processes
        program = cloud.site.rundir.data / 'hog'
        if not program.exists():
            build.compile_program('hog', program, self._processes.run)
        pinned = () if cpu is None else ('taskset', '--cpu-list', str(cpu))
        self._command = (*pinned, str(program), policy, priority, str(int(seconds)))

    def __enter__(self) -> 'subprocess.Popen[bytes]':
        return self._processes.start('hog-outside', self._command)

    def __exit__(self, *exception: object) -> None:
        self._processes.stop(['hog-outside'])
