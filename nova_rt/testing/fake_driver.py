# SPDX-License-Identifier: Apache-2.0
"""A stand-in for libvirt, over the stand-in for the kernel."""

import itertools
from typing import ClassVar

from nova import context
from nova import exception
from nova.compute import power_state
from nova.virt import fake

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import shares
from nova_rt.instance import holdings
from nova_rt.testing import fake_kernel
from nova_rt.virt import containers
from nova_rt.virt import host as virt_host
from nova_rt.virt import inventory
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors

PCPUS = 4
CAP = bandwidth.fraction_to_bandwidth(0.95)
_pids = itertools.count(1000)


class WatchedKernel(fake_kernel.FakeKernel):
    """A fake kernel that notes the most that containers ever held."""

    most = 0

    def write(self, group, name, text):
        super().write(group, name, text)
        for pcpu in range(self.count):
            has = sum(self.bandwidths(child)[pcpu]
                       for child in self.children('machine'))
            self.most = max(self.most, has)


class FakeContainerDriver(fake.FakeDriver):
    """Nova's fake driver, with containers' groups in a fake kernel."""

    # By host: a kernel outlives its nova-rt-compute, and so do options.
    kernels: ClassVar[dict[str, fake_kernel.FakeKernel]] = {}
    capacities: ClassVar[dict[str, tuple[int, ...]]] = {}

    def init_host(self, host):
        super().init_host(host)
        capacity = self.capacities.get(host, (CAP,) * PCPUS)
        self.kernel = self.kernels.setdefault(
            host, fake_kernel.FakeKernel(len(capacity), multi=True))
        spoken = detect.detect(self.kernel, len(capacity))
        self.reservations = virt_host.ReservationHost(
            spoken, shares.HostShares.empty(capacity))
        self._reconcile()

    def get_available_resource(self, nodename):
        self._reconcile()
        return super().get_available_resource(nodename)

    def _reconcile(self):
        self.reservations.reconcile(
            (container.pid, container.copy)
            for container in self.running().values() if container.copy)

    # By process, as the metadata of a domain.
    _copies: ClassVar[dict[int, ledger.Holding]] = {}

    # Known from init_host on; the manager asks for it before.
    reservations: virt_host.ReservationHost | None = None

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory.offer(provider_tree, nodename, self.reservations.empty)

    def spawn(self, context, instance, *args, **kwargs):
        super().spawn(context, instance, *args, **kwargs)
        self._start_if_running(instance)

    def power_on(self, context, instance, *args, **kwargs):
        super().power_on(context, instance, *args, **kwargs)
        self._start(instance)

    def reboot(self, context, instance, *args, **kwargs):
        self._stop(instance)
        super().reboot(context, instance, *args, **kwargs)

    def finish_revert_migration(self, context, instance, *args, **kwargs):
        super().finish_revert_migration(context, instance, *args, **kwargs)
        self._start_if_running(instance)

    def power_off(self, instance, *args, **kwargs):
        super().power_off(instance, *args, **kwargs)
        self._stop(instance)

    def migrate_disk_and_power_off(self, context, instance, *args, **kwargs):
        self._stop(instance)
        return super().migrate_disk_and_power_off(
            context, instance, *args, **kwargs)

    def suspend(self, context, instance):
        self.power_off(instance)

    def resume(self, context, instance, *args, **kwargs):
        self.power_on(context, instance, None)

    def rescue(self, context, instance, *args, **kwargs):
        self._stop(instance)
        self.power_on(context, instance, None)

    def unrescue(self, context, instance):
        self.rescue(context, instance)

    def soft_delete(self, instance):
        self.power_off(instance)

    def restore(self, instance):
        self.power_on(context.get_admin_context(), instance, None)

    def resume_state_on_host_boot(self, context, instance, *args, **kwargs):
        self.power_on(context, instance, None)

    def destroy(self, context, instance, *args, **kwargs):
        self._stop(instance)
        super().destroy(context, instance, *args, **kwargs)

    def change_reservation(self, instance, holding):
        for pid, group in list(self.kernel.pids.items()):
            if group == f'machine/{instance.uuid}':
                self._change(pid, holding)

    def _change(self, pid, holding):
        try:
            self.reservations.apply(pid, holding)
        except errors.KernelRefusalError as why:
            raise exception.ResizeError(reason=str(why)) from None
        self._copies[pid] = holding

    def running(self):
        """Return the containers that run, by server, as libvirt would."""
        return {group.removeprefix('machine/'): containers.Container(
                    pid, self._copies.get(pid))
                for pid, group in list(self.kernel.pids.items())}

    def _start_if_running(self, instance):
        if self.get_info(instance).state == power_state.RUNNING:
            self._start(instance)

    def _start(self, instance):
        try:
            holding = holdings.holding_on(instance, self._host)
        except exception.InstanceDeployFailure:
            self._note_end(instance)
            raise
        if holding is None:
            return
        self._end_container(instance)
        pid = next(_pids)
        self._copies[pid] = holding
        self.kernel.start(pid, f'machine/{instance.uuid}')
        try:
            self.reservations.apply(pid, holding)
        except errors.KernelRefusalError as why:
            self._stop(instance)
            raise exception.InstanceDeployFailure(reason=str(why)) from None

    def _stop(self, instance):
        if self._end_container(instance):
            self._note_end(instance)

    def _end_container(self, instance):
        """End a server's container; return whether it ran."""
        group = f'machine/{instance.uuid}'
        pids = [pid for pid, of in list(self.kernel.pids.items())
                if of == group]
        for pid in pids:
            self.kernel.stop(pid)
            self.reservations.take_back(group)
        return bool(pids)

    def _note_end(self, instance):
        if instance.uuid in self.instances:
            self.instances[instance.uuid].state = power_state.SHUTDOWN
