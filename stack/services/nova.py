# SPDX-License-Identifier: Apache-2.0
"""Nova: one nova.conf for its API, conductor, scheduler and compute."""

from collections.abc import Mapping
from collections.abc import Sequence
import datetime
import os
from pathlib import Path

import openstack

from nova_rt.api import paste_ini
from stack import ini
from stack.service import Service
from stack.service import Site
from stack.service import WsgiService
from stack.services import blazar
from stack.services import hosts
from stack.services import keystone
from stack.services import libvirt
from stack.services import openvswitch


def configuration(site: Site) -> dict[str, dict[str, object]]:
    """Return nova.conf."""
    return ini.merged(
        _common(site), _clients(site), _compute(site),
        NOVA_RT if site.nova_rt else STOCK, _leases(site), site.nova_conf)


def arguments(site: Site, number: int = 1) -> tuple[str, ...]:
    """Return the options with which a program reads what a host has configured."""
    return ('--config-file', str(site.rundir.etc / 'nova' / 'nova.conf'),
            '--config-file', str(_of_host(site, number)))


def _of_host(site: Site, number: int) -> Path:
    return site.rundir.etc / 'nova' / f'host-{number}.conf'


# Seconds that a guest has to shut itself down. That of build.MACHINE does not listen.
DEAF_S = 3

# nova-rt-compute has its own driver; the option must not name one.
STOCK: ini.Sections = {'DEFAULT': {'compute_driver': 'libvirt.LibvirtDriver'}}
AVAILABLE_FILTERS = [
    'nova.scheduler.filters.all_filters',
    'nova_rt.filters.rt_share_filter.RTShareFilter']
ENABLED_FILTERS = (
    'ComputeFilter', 'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter', 'RTShareFilter')
NOVA_RT: ini.Sections = {
    'filter_scheduler': {
        'available_filters': AVAILABLE_FILTERS,
        'enabled_filters': ','.join(ENABLED_FILTERS),
        'weight_classes':
            'nova.scheduler.weights.all_weighers,'
            'nova_rt.filters.rt_share_weigher.RTShareWeigher',
    },
}


def _common(site: Site) -> dict[str, dict[str, object]]:
    return {
        'DEFAULT': {
            'use_stderr': True,
            'my_ip': '127.0.0.1',
            'state_path': site.rundir.data / 'nova',
            'transport_url': site.broker,
            'rpc_response_timeout': 30,
            # A service that was just restarted counts as up soon.
            'report_interval': 2,
            'service_down_time': 600,
            # Periodic tasks begin at once; a stop does not wait for them.
            'periodic_fuzzy_delay': 0,
            'graceful_shutdown_timeout': 2,
            'allow_resize_to_same_host': site.hosts == 1,
        },
        'api': {'auth_strategy': 'keystone'},
        'wsgi': {
            'api_paste_config': site.rundir.etc / 'nova' / 'api-paste.ini'},
        'api_database': {'connection': site.database('nova_api')},
        'database': {'connection': site.database('nova')},
        'oslo_concurrency': {
            'lock_path': site.rundir.data / 'nova' / 'lock'},
        'conductor': {'workers': 1},
        'scheduler': {
            'workers': 1, 'discover_hosts_in_cells_interval': 2},
        'keystone_authtoken': keystone.authtoken(site, 'nova'),
    }


def _clients(site: Site) -> dict[str, dict[str, object]]:
    user = keystone.credentials(site, 'nova')
    return {
        'placement': user,
        'service_user': {**user, 'send_service_user_token': True},
        'glance': {'api_servers': site.url('glance')},
        'neutron': {**user, 'endpoint_override': site.url('neutron')},
        'cinder': user,
    }


def _compute(site: Site) -> dict[str, dict[str, object]]:
    helper: dict[str, object] = {
        'helper_command':
            f'{site.nova_script("privsep-helper")} --config-file '
            f'{site.rundir.etc}/nova/nova.conf'}
    return {
        'DEFAULT': {
            # An LXC root cannot be a chain of qcow2 files.
            'use_cow_images': False,
            'force_raw_images': True,
            'resume_guests_state_on_host_boot': False,
            **({'shutdown_timeout': DEAF_S} if site.runs_machines else {}),
        },
        'libvirt': {
            'virt_type': site.virt_type, 'images_type': 'raw',
            **({'wait_soft_reboot_seconds': DEAF_S} if site.runs_machines else {})},
        'os_vif_ovs': {'ovsdb_connection': openvswitch.SOCKET},
        'vnc': {'enabled': False},
        'rt': {'lend_after_misses': 3, 'lend_for': 3},
        'nova_sys_admin': helper,
        'privsep_osbrick': helper,
        'vif_plug_linux_bridge_privileged': helper,
        'vif_plug_ovs_privileged': helper,
    }


def _leases(site: Site) -> ini.Sections:
    """Return what keeps a lease's hosts from other servers."""
    if 'leases' not in site.more:
        return {}
    return {'filter_scheduler': {
        'available_filters': [*AVAILABLE_FILTERS, blazar.FILTER_CLASS],
        'enabled_filters': ','.join((*ENABLED_FILTERS, *blazar.FILTERS))}}


class NovaSchema(Service):
    """Nova's configuration and databases, with one cell."""

    name = 'nova-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write the files and create the schemas."""
        etc = self.site.rundir.etc / 'nova'
        ini.write(etc / 'nova.conf', configuration(self.site))
        for number in self.site.numbers:
            ini.write(_of_host(self.site, number), hosts.options(self.site, number))
        shipped = self.site.nova / 'etc' / 'nova' / 'api-paste.ini'
        text = shipped.read_text()
        (etc / 'api-paste.ini').write_text(
            paste_ini.added(text) if self.site.nova_rt else text)
        # Without it the hypervisor never registers.
        (self.site.rundir.data / 'nova' / 'instances').mkdir(parents=True)
        self.site.processes.run('nova-schema', (
            self.site.nova_script('python'), '-m', 'stack.nova_schema', '--config-file',
            str(etc / 'nova.conf')))


class NovaApi(WsgiService):
    """The compute API."""

    name = 'nova-api'
    needs = ('nova-schema', 'rabbitmq')
    application = 'nova.wsgi.osapi_compute'

    @property
    def prefix(self) -> Path:
        """See base class."""
        return self.site.nova

    def environment(self) -> Mapping[str, str]:
        """Return where nova.conf is."""
        return {'OS_NOVA_CONFIG_DIR': str(self.site.rundir.etc / 'nova')}


class NovaProcess(Service):
    """A part of Nova without an HTTP API, reached by messages."""

    needs: tuple[str, ...] = ('nova-schema', 'rabbitmq')
    _started: datetime.datetime | None = None
    _restarted = False

    def command(self) -> Sequence[str]:
        """Return the script's command line."""
        return (self.site.nova_script(self.name), '--config-file',
                str(self.site.rundir.etc / 'nova' / 'nova.conf'))

    def start(self) -> None:
        """See base class; what it reported before does not count."""
        self._restarted = self._started is not None
        self._started = datetime.datetime.now(datetime.UTC)
        super().start()

    def ready(self) -> bool:
        """Whether this process reported to the database that it is up."""
        try:
            return any(
                service.state == 'up' and self._is_new(service.updated_at)
                for service in keystone.cloud(self.site).compute.services(
                    binary=self.binary, **self.where()))
        except openstack.exceptions.HttpException:
            return False

    def _is_new(self, report: str | None) -> bool:
        if self._started is None:
            return True
        if report is None:
            # Registered, and nothing reported yet: after a restart, by the one before.
            return not self._restarted
        reported = datetime.datetime.fromisoformat(report)
        return reported.replace(tzinfo=datetime.UTC) >= self._started

    @property
    def binary(self) -> str:
        """The name under which Nova lists it."""
        return self.name

    def where(self) -> Mapping[str, str]:
        """Return what tells it from others of its name."""
        return {}


class NovaConductor(NovaProcess):
    """The part that has the database."""

    name = 'nova-conductor'
    needs = (*NovaProcess.needs, 'nova-api', 'catalogue')

    def command(self) -> Sequence[str]:
        """Return ours, unless Nova is to be as released."""
        script = 'nova-rt-conductor' if self.site.nova_rt else self.name
        return self.site.nova_script(script), *super().command()[1:]


class NovaScheduler(NovaProcess):
    """The part that chooses the host."""

    name = 'nova-scheduler'
    needs = (*NovaProcess.needs, 'nova-api', 'catalogue', 'placement')


class NovaCompute(NovaProcess):
    """The part that starts containers."""

    name = 'nova-compute'
    needs = (
        *NovaProcess.needs, 'nova-api', 'catalogue', 'placement',
        'nova-conductor', 'libvirtd')
    number = 1

    def command(self) -> Sequence[str]:
        """Return the configured command, in the namespaces of its host."""
        return libvirt.inside(
            self.site, self.site.nova_script(self.site.compute),
            *arguments(self.site, self.number), number=self.number)

    def environment(self) -> Mapping[str, str]:
        """Return where it finds the commands that go to the other host."""
        if self.site.hosts == 1:
            return {}
        return {'PATH': f'{hosts.between(self.site)}{os.pathsep}{os.environ["PATH"]}'}

    @property
    def binary(self) -> str:
        """See base class."""
        return NovaCompute.name

    def where(self) -> Mapping[str, str]:
        """See base class."""
        return {'host': hosts.name(self.number)}

    def ready(self) -> bool:
        """Whether its host can be chosen: registered, and mapped to a cell."""
        return super().ready() and any(
            hypervisor.service_details['host'] == hosts.name(self.number)
            for hypervisor in keystone.cloud(self.site).compute.hypervisors(details=True))


class MachineCompute(NovaCompute):
    """The same for virtual machines, whose vCPUs the kernel must admit."""

    needs = (*NovaCompute.needs, 'nova-rt-admission')
