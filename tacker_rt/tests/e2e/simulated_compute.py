# SPDX-License-Identifier: Apache-2.0
"""nova-rt-compute on a simulated host: ``python -m`` this module.

It is one more host of a real stack, with as many pCPUs as the paper's
descriptors need and the machine may not have. Our manager, tracker and claims
are the real ones; the containers and the kernel are stand-ins. The file that
NOVA_RT_SIMULATED names holds what the kernel was told, by server.
"""

# Before all of Nova: it chooses between threads and eventlet only once.
from nova_rt.testing import native_threads  # isort: skip  # noqa: F401

import json
import os
import pathlib

from nova.cmd import compute
from nova.virt import fake

from nova_rt.compute import hooks
from nova_rt.testing import cloud
from nova_rt.virt.cgroup import detect
from tacker_rt.tests.e2e import simulated


class ToldDriver(cloud.FakeContainerDriver):
    """Records what each container holds, by pCPU in µs, once it runs."""

    def _start(self, instance):
        super()._start(instance)
        budget = detect.detect(self.kernel, cloud.PCPUS).read(
            f'machine/{instance.uuid}')
        path = pathlib.Path(os.environ[simulated.VARIABLE])
        told = json.loads(path.read_text()) if path.exists() else {}
        told[instance.uuid] = [budget.period_us, *budget.runtimes_us]
        path.write_text(json.dumps(told))


def main() -> None:
    """Run the service."""
    hooks.install()
    fake.ToldDriver = ToldDriver
    compute.main()


if __name__ == '__main__':
    main()
