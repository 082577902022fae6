# SPDX-License-Identifier: Apache-2.0
"""What is left of nova-rt in libvirt and in the kernel of one compute host."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib

from oslo_config import cfg

from nova_rt import bandwidth
from nova_rt import drifts
from nova_rt.removal import remnants
from nova_rt.virt import containers
from nova_rt.virt import host as virt_host
from nova_rt.virt import this_host
from nova_rt.virt.rt_init import program


def left(conf: cfg.ConfigOpts) -> Iterator[remnants.Remnant]:
    """Yield what is left of reservations on this host.

    :param conf: Nova's, with group ``[rt]`` registered
    :raises UnreachableError: if libvirt does not answer
    """
    described = containers.described(conf)
    for server in described:
        yield remnants.Remnant(
            f'server {server}', 'its domain is as nova-rt wrote it, with its reservation',
            _restart(server))
    try:
        kernel = this_host.from_options(conf).survey(
            {server: running.pid for server, running in containers.running(conf).items()})
    except virt_host.UnavailableError:
        # A kernel that cannot hold reservations holds none.
        kernel = None
    if kernel is not None:
        yield from _in_kernel(kernel)
    rt_init = program.on_host(conf.instances_path)
    if rt_init.exists() and not described:
        yield remnants.Remnant(str(rt_init), 'the first process of containers', f'rm {rt_init}')


def clean(conf: cfg.ConfigOpts) -> None:
    """Give back what the control groups above containers hold and none of these needs.

    :param conf: Nova's, with group ``[rt]`` registered
    """
    with contextlib.suppress(virt_host.UnavailableError):
        this_host.from_options(conf).take_back_all()


def _in_kernel(kernel: drifts.Kernel) -> Iterator[remnants.Remnant]:
    for server, held in kernel.containers.items():
        if any(held):
            yield remnants.Remnant(
                f'server {server}', f'the kernel gives it {_most(held)} of a pCPU',
                _restart(server))
    if any(kernel.kept):
        yield remnants.Remnant(
            'control groups', f'those above containers keep {_most(kernel.kept)} of a pCPU',
            f'{remnants.CLEAN} --host')


def _restart(server: str) -> str:
    return f'openstack server reboot --hard {server}, once nova-compute runs here'


def _most(held: Sequence[int]) -> str:
    return bandwidth.percent(max(held))
