# SPDX-License-Identifier: Apache-2.0
"""A stack for the length of a test session."""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import os
import pathlib
import sys

import pytest

from stack import cloud as stack_cloud
from stack import interruption
from stack import prerequisites
from stack import rundir
from stack import service

ROOT = pathlib.Path(__file__).parents[3]


@contextlib.contextmanager
def running(name: str, more: Sequence[str] = (), nodes: int = 0,
            virt_type: str = 'lxc', hosts: int = 1, stock: bool = False,
            nova: pathlib.Path = pathlib.Path(sys.prefix)) -> Iterator[stack_cloud.Cloud]:
    """Start a stack, and give everything back at the end.

    :param name: of its run directory. ``NOVA_RT_<NAME>_RUN_DIR`` may name one
        where a stack is up already; it is then used and left running.
    :param more: what it has besides, see ``stack.services.MORE``.
    :param nodes: how many compute nodes it has in virtual machines.
    :param virt_type: Nova's option for this machine.
    :param hosts: how many hosts of virtual machines this machine is.
    :param stock: whether Nova is without nova-rt.
    :param nova: the Python environment whose Nova runs.

    Skips the tests where there can be no stack.
    """
    given = os.environ.get(f'NOVA_RT_{name.upper()}_RUN_DIR')
    if given:
        yield stack_cloud.Cloud(service.Site.of(rundir.RunDir(given)))
        return
    if reason := prerequisites.missing(virt_type, hosts, nodes, more):
        pytest.skip(reason)
    interruption.interruptible()
    cloud = stack_cloud.Cloud(
        service.Site(rundir.RunDir(ROOT / 'run' / name),
                     'nova-compute' if stock else 'nova-rt-compute', not stock,
                     more=more, nodes=nodes, virt_type=virt_type, hosts=hosts, nova=nova),
        report=lambda part, seconds: print(f'{part}: {seconds:.1f} s'))
    cloud.up()
    try:
        yield cloud
    finally:
        problems = cloud.down()
    assert problems == []
