# SPDX-License-Identifier: Apache-2.0
"""What must be in place before servers are offered reservations."""

import importlib.util

from oslo_config import cfg

from nova_rt.virt import host
from nova_rt.virt import kinds
from nova_rt.virt import user_namespaces
from nova_rt.virt.rt_init import program


def check(conf: cfg.ConfigOpts) -> None:
    """Refuse options, or an installation, with which no server could start.

    :raises UnavailableError: with what to change
    """
    kind = kinds.BY_VIRT_TYPE.get(conf.libvirt.virt_type)
    if kind is None:
        raise host.UnavailableError(
            f'[libvirt] virt_type is {conf.libvirt.virt_type}, but only containers (lxc) '
            'and virtual machines (kvm, qemu) can have reservations: set it to one of '
            'these, or [rt] hcbs_scheduler_available=false.')
    if kind is kinds.Kind.CONTAINER:
        _check_containers(conf)
    elif importlib.util.find_spec('libvirt_qemu') is None:
        raise host.UnavailableError(
            'The Python module libvirt_qemu is missing: install libvirt-python with '
            "libvirt's development files at hand, or Debian's python3-libvirt.")


def _check_containers(conf: cfg.ConfigOpts) -> None:
    if bool(conf.libvirt.uid_maps) != bool(conf.libvirt.gid_maps):
        raise host.UnavailableError(
            'Only one of [libvirt] uid_maps and gid_maps is set: set both, which puts '
            'containers into user namespaces, or neither.')
    if conf.libvirt.uid_maps and not user_namespaces.sees_all_processes():
        raise host.UnavailableError(
            '[libvirt] uid_maps puts containers into user namespaces, where their first '
            'processes are granted real-time policies one by one, but nova-rt-compute does '
            "not see them: run it in the host's pid namespace, or remove uid_maps and "
            'gid_maps.')
    if not program.BUILT.exists():
        raise host.UnavailableError(
            f'{program.BUILT} is missing: install nova-rt again, with a C '
            'compiler and a static C library at hand.')


def install_rt_init(conf: cfg.ConfigOpts) -> None:
    """Put rt-init where libvirt finds it.

    :raises UnavailableError: if that is not possible
    """
    try:
        program.install(conf.instances_path)
    except OSError as exc:
        raise host.UnavailableError(
            f'rt-init, with which containers start, cannot be put below '
            f'[DEFAULT] instances_path ({exc}): see that there is room, and '
            'that the file system is mounted without noexec.') from None
