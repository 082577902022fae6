# SPDX-License-Identifier: Apache-2.0
"""What the kernel of a node reports about its virtual machines, as JSON.

It is copied to the node, as ``look.py`` and ``vcpus.py`` are, which it needs:
``look_at_machines.py [SECONDS [COMMAND...]]``. With SECONDS, it measures for so long what
each vCPU gets of its pCPU. The command runs meanwhile, and is ended then.
"""

from collections.abc import Sequence
import dataclasses
import json
import os
import pathlib
import sys

from look import running  # type: ignore[import-not-found]  # beside it on the node
import vcpus  # type: ignore[import-not-found]  # beside it on the node

_QEMUS = pathlib.Path('/run/libvirt/qemu')
# Above every hog.
_PRIORITY = 99


def look(seconds: float, beside: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return each virtual machine by the name of its domain, with what its vCPUs got."""
    machines = [vcpus.of_qemu(path.stem, int(path.read_text()))
                for path in _QEMUS.glob('instance-*.pid')]
    got = {}
    if seconds:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
        with running(beside):
            got = vcpus.measure(machines, seconds)
    return {machine.server: {**dataclasses.asdict(machine), 'got': got.get(machine.server, {})}
            for machine in machines}


if __name__ == '__main__':
    print(json.dumps(look(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0, sys.argv[2:])))
