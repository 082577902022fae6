# SPDX-License-Identifier: Apache-2.0
"""A VNF, through the commands that its operator types."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import json
import pathlib
from typing import Any

from nova_rt.tests.e2e import driver
from stack.services import neutron
from tacker_rt.testing import packages
from tacker_rt.tests.e2e import client

# Tacker itself looks at Heat every five seconds.
PAUSE_S = 0.5
# One operation makes several servers anew, one after the other.
PATIENCE_S = 400
AT_WORK = ('STARTING', 'PROCESSING', 'ROLLING_BACK')


# What instantiate() takes: a script for user data, and its class; here our standard one.
USER_DATA = 'lcm-operation-user-data'
STANDARD = {USER_DATA: 'tacker_rt/user_data.py', f'{USER_DATA}-class': 'StandardUserData'}


@contextlib.contextmanager
def flavor(admin: client.Client) -> Iterator[str]:
    """Make the flavor that the example packages and templates name; it reserves nothing."""
    admin.run('flavor create vnf --vcpus 2 --ram 64 --disk 1')
    yield 'vnf'
    admin.run('flavor delete vnf')


class Operator:
    """Onboards packages and runs VNFs with one version of Tacker's API.

    :param user: who this is.
    :param version: of the API, '1' or '2'.
    :param scratch: an empty directory.
    """

    def __init__(self, user: client.Client, version: str,
                 scratch: pathlib.Path) -> None:
        self._client = user
        self.version = version
        self._scratch = scratch
        self._vnfs: list[Vnf] = []
        self._packages: list[str] = []

    def onboard(self, example: str,
                edits: Mapping[str, str] | None = None,
                files: Mapping[str, str | None] | None = None) -> str:
        """Upload a package, see packages.build(); return its VNFD's id."""
        path = self._scratch / f'{len(self._packages)}.csar'
        vnfd = packages.build(example, path, edits, files)
        package = self._client.run(
            'vnf package create -f value -c ID')
        self._packages.append(package)
        self._client.run(
            f'vnf package upload --path {path} {package}')
        self.wait_until_onboarded(package)
        return vnfd

    def create(self, vnfd: str) -> 'Vnf':
        """Create a VNF that is not instantiated yet."""
        created = json.loads(self.command(f'vnflcm create {vnfd} -f json'))
        self._vnfs.append(self.vnf(created['ID']))
        return self._vnfs[-1]

    def vnf(self, ident: str) -> 'Vnf':
        """Return a VNF of the kind that this operator runs."""
        return Vnf(self, ident)

    def adopt(self) -> tuple[str | None, 'Vnf | None']:
        """Take over the package and the VNF that others made, if they are."""
        self._packages = [
            each['id'] for each in self.ask('/vnfpkgm/v1/vnf_packages')]
        self._vnfs = [
            self.vnf(each['id'])
            for each in self.ask(f'/vnflcm/v{self.version}/vnf_instances')]
        return (next(iter(self._packages), None),
                next(iter(self._vnfs), None))

    def wait_until_onboarded(self, package: str) -> None:
        """Wait until a package that was uploaded can be used."""
        driver.until(lambda: self._is_onboarded(package),
                     f'package {package} is onboarded', pause=PAUSE_S)

    def command(self, text: str) -> str:
        """Run ``openstack`` with Tacker's version and return its output."""
        return self._client.run(
            f'--os-tacker-api-version {self.version} {text}')

    def ask(self, path: str) -> Any:
        """Return what Tacker's API answers, as the commands would."""
        return self._client.cloud.session.get(
            path, endpoint_filter={'service_type': 'nfv-orchestration'},
            headers={'Version': f'{self.version}.0.0'}).json()

    def latest(self, vnf: str) -> dict[str, Any]:
        """Return a VNF's newest operation, empty if there was none."""
        path = f'/vnflcm/v{self.version}/vnf_lcm_op_occs'
        listed = self.ask(f'{path}?filter=(eq,vnfInstanceId,{vnf})')
        if not listed:
            return {}
        newest = max(listed, key=lambda each: each['startTime'])
        # What a list shows has no error.
        shown: dict[str, Any] = self.ask(f'{path}/{newest["id"]}')
        return shown

    def file(self, body: object) -> pathlib.Path:
        """Return a file that holds the parameters of a command."""
        path = self._scratch / 'parameters.json'
        path.write_text(json.dumps(body))
        return path

    def place(self) -> dict[str, Any]:
        """Return where a VNF is instantiated, as the request says it."""
        return {'extVirtualLinks': self.links()}

    def links(self) -> list[dict[str, Any]]:
        """Return what connects a VNF with the outside, in API version 2."""
        if self.version == '1':
            return []
        network = self._client.cloud.network.find_network(neutron.PHYSICAL)
        dynamic = {'type': 'IPV4', 'numDynamicAddresses': 1}
        return [{
            'id': 'outside', 'resourceId': network.id, 'extCps': [{
                'cpdId': 'VDU_RT_OUT', 'cpConfig': {'any': {'cpProtocolData': [{
                    'layerProtocol': 'IP_OVER_ETHERNET',
                    'ipOverEthernet': {'ipAddresses': [dynamic]}}]}}}]}]

    def clean_up(self) -> None:
        """Terminate what runs; delete VNFs and packages."""
        for vnf in self._vnfs:
            vnf.remove()
        for package in self._packages:
            self._client.run('vnf package update '
                             f'--operational-state DISABLED {package}')
            self._client.run(f'vnf package delete {package}')
        self._vnfs, self._packages = [], []

    def _is_onboarded(self, package: str) -> bool:
        shown = self.ask(f'/vnfpkgm/v1/vnf_packages/{package}')
        assert shown['onboardingState'] != 'CREATED', shown
        return bool(shown['onboardingState'] == 'ONBOARDED')


class Vnf:
    """One VNF."""

    def __init__(self, operator: Operator, ident: str) -> None:
        self._operator = operator
        self.id = ident
        self.additional: dict[str, Any] = {}

    def instantiate(self, **additional: Any) -> None:
        """Instantiate it; what is additional goes with later requests too."""
        self.try_to_instantiate(**additional)
        self.succeeded()

    def try_to_instantiate(self, **additional: Any) -> None:
        """Instantiate it, which may fail."""
        self.additional = additional
        path = self._operator.file({
            'flavourId': 'simple', 'additionalParams': additional,
            **self._operator.place()})
        self._operator.command(f'vnflcm instantiate {self.id} {path}')
        self.settled()

    def scale(self, kind: str) -> None:
        """Scale by one step, SCALE_OUT or SCALE_IN."""
        self._do(f'scale --type {kind} --aspect-id VDU_RT_scale '
                 f'{self._with_additional()} {self.id}')

    def heal(self, *vnfcs: str) -> None:
        """Make these VNFCs anew."""
        self._do(f'heal {self.id} {self._with_additional()} '
                 f'--vnfc-instance {" ".join(vnfcs)}')

    def change(self, vnfd: str, *vdus: str) -> None:
        """Go over to another package, server by server of these VDUs."""
        path = self._operator.file({
            'vnfdId': vnfd, 'additionalParams': {
                **self.additional, 'upgrade_type': 'RollingUpdate',
                'vdu_params': [{'vdu_id': each} for each in vdus]}})
        self._do(f'change-vnfpkg {self.id} {path}')

    def let_itself_be_healed(self) -> None:
        """Have Tacker heal it when an alert says so."""
        path = self._operator.file(
            {'vnfConfigurableProperties': {'isAutohealEnabled': True}})
        self._do(f'update {self.id} --I {path}')

    def terminate(self) -> None:
        """End all of its servers."""
        self._do(f'terminate --termination-type FORCEFUL {self.id}')

    def failure(self) -> str:
        """Return why the last operation failed."""
        operation = self._operator.latest(self.id)
        assert operation['operationState'] == 'FAILED_TEMP', operation
        return str(operation['error']['detail'])

    def servers(self, vdu: str) -> list[str]:
        """Return the ids of a VDU's servers."""
        return [each['computeResource']['resourceId']
                for each in self._instantiated()['vnfcResourceInfo']
                if each['vduId'] == vdu]

    def vnfcs(self, vdu: str) -> list[str]:
        """Return the ids of a VDU's VNFCs, as healing names them."""
        return [each['id'] for each in self._instantiated()['vnfcInfo']
                if each['vduId'] == vdu]

    def settled(self) -> None:
        """Wait until nothing is done to it."""
        driver.until(lambda: self._operator.latest(self.id).get(
            'operationState') not in AT_WORK, f'VNF {self.id} is at rest',
            PATIENCE_S, PAUSE_S)

    def succeeded(self) -> None:
        """Fail if its last operation did."""
        operation = self._operator.latest(self.id)
        assert operation['operationState'] == 'COMPLETED', operation

    def remove(self) -> None:
        """Leave nothing of it, whatever state it is in."""
        latest = self._operator.latest(self.id)
        if latest.get('operationState') == 'FAILED_TEMP':
            self._operator.command(f'vnflcm op rollback {latest["id"]}')
            self.settled()
        if self._instantiated():
            self.terminate()
        driver.until(self._is_deleted, f'VNF {self.id} is deleted')

    def _is_deleted(self) -> bool:
        """Try to delete it: an operation that is over may not be forgotten."""
        try:
            self._operator.command(f'vnflcm delete {self.id}')
        except AssertionError as why:
            if 'in progress' not in str(why):
                raise
            return False
        return True

    def _do(self, text: str) -> None:
        """Run a command of ``openstack vnflcm`` and wait for its success."""
        self._operator.command(f'vnflcm {text}')
        self.settled()
        self.succeeded()

    def _with_additional(self) -> str:
        if not self.additional:
            return ''
        path = self._operator.file({'additionalParams': self.additional})
        return f'--additional-param-file {path}'

    def _instantiated(self) -> dict[str, Any]:
        """Return what it consists of, nothing unless it is instantiated."""
        shown = self._operator.ask(
            f'/vnflcm/v{self._operator.version}/vnf_instances/{self.id}')
        if shown['instantiationState'] != 'INSTANTIATED':
            return {}
        info: dict[str, Any] = shown['instantiatedVnfInfo']
        return info
