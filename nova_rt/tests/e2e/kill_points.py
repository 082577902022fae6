# SPDX-License-Identifier: Apache-2.0
"""nova-rt-compute that is killed at a named point: ``python -m`` this module.

A point is a side of a call. The process kills itself, as ``kill -9`` would,
when it comes to the point that the file named by NOVA_RT_KILL_AT holds; the
file is removed first, so that the next process lives.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import importlib
import os
import pathlib
import signal
import sys

from stack import cloud as stack_cloud

VARIABLE = 'NOVA_RT_KILL_AT'


@dataclasses.dataclass(frozen=True)
class Point:
    """Before or after a call of a method."""

    side: str
    method: str

    def __str__(self) -> str:
        return f'{self.side} {self.method.rpartition(":")[2]}'


_MANAGER = 'nova.compute.manager:ComputeManager'
_CHANGES = 'nova_rt.compute.in_place_resize:InPlaceResize'
_DRIVER = 'nova_rt.virt.driver:RTLibvirtDriver'
_LIBVIRT = 'nova.virt.libvirt.driver:LibvirtDriver'
_GUEST = 'nova.virt.libvirt.guest:Guest'
_HIERARCHY = 'nova_rt.virt.cgroup.hierarchy:Hierarchy'
_TRACKER = 'nova_rt.compute.resource_tracker:RTResourceTracker'
_MOVES = 'nova_rt.compute.vcpu_moves:VCPUMoves'

CREATE = (
    Point('before', f'{_MANAGER}._build_and_run_instance'),
    Point('before', 'nova_rt.compute.claims:RTClaim._claim_test'),
    Point('after', 'nova_rt.compute.claims:RTClaim._claim_test'),
    Point('before', f'{_TRACKER}._update_usage_from_instance'),
    Point('after', f'{_TRACKER}.instance_claim'),
    Point('before', f'{_LIBVIRT}.spawn'),
    Point('before', f'{_DRIVER}._get_guest_xml'),
    Point('after', f'{_DRIVER}._get_guest_xml'),
    Point('before', f'{_DRIVER}._create_guest'),
    Point('before', f'{_GUEST}.launch'),
    Point('after', f'{_GUEST}.launch'),
    Point('before', f'{_HIERARCHY}.apply'),
    Point('after', f'{_HIERARCHY}._raise_ancestors'),
    Point('after', f'{_HIERARCHY}.apply'),
    Point('after', f'{_DRIVER}._create_guest'),
    Point('after', f'{_LIBVIRT}.spawn'),
    Point('after', f'{_MANAGER}._build_and_run_instance'),
)

DELETE = (
    Point('before', f'{_MANAGER}.terminate_instance'),
    Point('before', f'{_LIBVIRT}.destroy'),
    Point('before', f'{_DRIVER}._destroy'),
    Point('before', f'{_GUEST}.poweroff'),
    Point('after', f'{_GUEST}.poweroff'),
    Point('before', f'{_HIERARCHY}.take_back'),
    Point('after', f'{_HIERARCHY}.take_back'),
    Point('after', f'{_DRIVER}._destroy'),
    Point('after', f'{_LIBVIRT}.cleanup'),
    Point('after', f'{_LIBVIRT}.destroy'),
    Point('before', f'{_MANAGER}._complete_deletion'),
    Point('after', f'{_MANAGER}._complete_deletion'),
)

RESIZE = (
    Point('before', f'{_CHANGES}._change'),
    Point('before', f'{_DRIVER}.change_reservation'),
    Point('before', f'{_HIERARCHY}.apply'),
    Point('after', f'{_HIERARCHY}.apply'),
    Point('after', f'{_DRIVER}.change_reservation'),
    Point('after', f'{_CHANGES}._change'),
)

# Of a live migration.
SOURCE = (
    Point('before', f'{_MANAGER}._do_live_migration'),
    Point('before', f'{_LIBVIRT}._live_migration'),
    Point('before', f'{_LIBVIRT}._live_migration_operation'),
    Point('after', f'{_LIBVIRT}._live_migration_operation'),
    Point('before', f'{_MANAGER}._post_live_migration'),
    Point('before', f'{_MANAGER}._post_live_migration_update_host'),
    Point('after', f'{_MANAGER}._post_live_migration_update_host'),
    Point('after', f'{_MANAGER}._post_live_migration'),
)

DESTINATION = (
    Point('before', f'{_MANAGER}.check_can_live_migrate_destination'),
    Point('before', f'{_MANAGER}.pre_live_migration'),
    Point('before', f'{_DRIVER}.pre_live_migration'),
    Point('after', f'{_LIBVIRT}.pre_live_migration'),
    Point('before', 'nova_rt.virt.domains:DomainReservations._receive'),
    Point('before', f'{_MANAGER}.post_live_migration_at_destination'),
    Point('before', f'{_LIBVIRT}.post_live_migration_at_destination'),
    Point('after', f'{_LIBVIRT}.post_live_migration_at_destination'),
)

# Of a claim that makes room.
ROOM = (
    Point('before', f'{_MOVES}.make_room'),
    Point('before', f'{_MOVES}.move'),
    Point('before', f'{_DRIVER}.move_vcpu'),
    Point('after', f'{_DRIVER}.move_vcpu'),
    Point('after', f'{_MOVES}.move'),
    Point('after', f'{_MOVES}.make_room'),
)


@contextlib.contextmanager
def installed(stack: stack_cloud.Cloud, folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Have the only nova-rt-compute of a stack die where the yielded file tells it.

    :param folder: an empty one for the file
    """
    order = folder / 'at'
    before = stack.site.compute
    stack.site.compute = program(folder, str(order))
    stack.restart('nova-compute')
    try:
        yield order
    finally:
        order.unlink(missing_ok=True)
        stack.site.compute = before
        stack.restart('nova-compute')


def program(folder: pathlib.Path, order: str) -> str:
    """Write a command that is nova-rt-compute, and can be killed; return its path.

    :param order: the path of the file that tells it where, as the shell expands it.
    """
    script = folder / 'compute'
    script.write_text(f'#!/bin/sh\n{VARIABLE}={order} exec {sys.executable} '
                      '-m nova_rt.tests.e2e.kill_points "$@"\n')
    script.chmod(0o755)
    return str(script)


def install(order: pathlib.Path) -> None:
    """Make the process die at the point that the file ``order`` holds."""
    for point in dict.fromkeys(CREATE + DELETE + RESIZE + SOURCE + DESTINATION + ROOM):
        module, _, path = point.method.partition(':')
        owner, _, name = path.partition('.')
        target = getattr(importlib.import_module(module), owner)
        setattr(target, name, _mortal(getattr(target, name), point, order))


def _mortal(method, point: Point, order: pathlib.Path):
    @functools.wraps(method)
    def wrapped(*args, **kwargs):
        if point.side == 'before':
            _die_if_told(point, order)
        result = method(*args, **kwargs)
        if point.side == 'after':
            _die_if_told(point, order)
        return result
    return wrapped


def _die_if_told(point: Point, order: pathlib.Path) -> None:
    try:
        if order.read_text() != str(point):
            return
        order.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run nova-rt-compute with all points in place."""
    from nova_rt.cmd import compute
    from nova_rt.compute import hooks

    checked = hooks.install

    def install_both() -> None:
        checked()
        install(pathlib.Path(os.environ[VARIABLE]))
    hooks.install = install_both
    compute.main()


if __name__ == '__main__':
    main()
