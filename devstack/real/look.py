# SPDX-License-Identifier: Apache-2.0
"""``look.py DOMAIN RUNTIME PERIOD``: whether the kernel gives a server that.

Of some windows the best counts, as any program may lose its CPU while it measures.
"""

from collections.abc import Callable
from pathlib import Path
import sys

from stack import kernel
from stack import vcpus

WINDOWS = 3
WINDOW_S = 10.0
TOLERANCE = 0.003


def main() -> None:
    """Look, print what each vCPU has, and fail if that is not what is reserved."""
    domain, runtime_us, period_us = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    shares, measured = running(domain)
    share = runtime_us / period_us
    if {*shares.values()} != {share}:
        sys.exit(f'{domain} reserves {shares} by pCPU instead of {share} on each.')
    for _ in range(WINDOWS):
        got = measured()
        print(*(f'pCPU {pcpu}: {share:.2%} reserved, {used:.2%} used'
                for pcpu, used in got.items()), sep='\n')
        if all(abs(used - share) <= TOLERANCE for used in got.values()):
            return
    sys.exit(f'{domain} never got {share:.2%} of each pCPU.')


def running(domain: str) -> tuple[dict[int, float], Callable[[], dict[int, float]]]:
    """Return what a server reserves by pCPU, and what measures what it gets."""
    qemu = Path(f'/run/libvirt/qemu/{domain}.pid')
    if qemu.exists():
        machine = vcpus.of_qemu(domain, int(qemu.read_text()))
        return machine.shares, lambda: vcpus.measure([machine], WINDOW_S)[domain]
    dialect = kernel.spoken()
    if dialect is None:
        sys.exit(f'{domain} is no virtual machine, and the kernel has no real-time groups.')
    container = kernel.container(dialect, domain, domain)
    return container.shares, lambda: kernel.measure([container], WINDOW_S)[domain]


if __name__ == '__main__':
    main()
