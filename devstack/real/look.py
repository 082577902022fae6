# SPDX-License-Identifier: Apache-2.0
"""``look.py DOMAIN RUNTIME PERIOD``: whether the kernel gives a virtual machine that.

Of some windows the best counts, as any program may lose its CPU while it measures.
"""

from pathlib import Path
import sys

from stack import vcpus

WINDOWS = 3
WINDOW_S = 10.0
TOLERANCE = 0.003


def main() -> None:
    """Look, print what each vCPU has, and fail if that is not what is reserved."""
    domain, runtime_us, period_us = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    pid = int(Path(f'/run/libvirt/qemu/{domain}.pid').read_text())
    machine = vcpus.of_qemu(domain, pid)
    share = runtime_us / period_us
    if {*machine.shares.values()} != {share}:
        sys.exit(f'{domain} reserves {machine.shares} by pCPU instead of {share} on each.')
    for _ in range(WINDOWS):
        got = vcpus.measure([machine], WINDOW_S)[domain]
        print(*(f'pCPU {pcpu}: {share:.2%} reserved, {used:.2%} used'
                for pcpu, used in got.items()), sep='\n')
        if all(abs(used - share) <= TOLERANCE for used in got.values()):
            return
    sys.exit(f'{domain} never got {share:.2%} of each pCPU.')


if __name__ == '__main__':
    main()
