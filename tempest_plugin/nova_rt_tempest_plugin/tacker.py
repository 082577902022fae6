# SPDX-License-Identifier: Apache-2.0
"""Tacker's API, as far as the tests of VNFs need it (SOL003 and SOL005)."""

import json

from tempest.lib.common import rest_client

INSTANCES = '/vnflcm/v2/vnf_instances'
PACKAGES = '/vnfpkgm/v1/vnf_packages'
OPERATIONS = '/vnflcm/v2/vnf_lcm_op_occs'


class Client(rest_client.RestClient):
    """A client of Tacker's API for one user."""

    def _call(self, method, path, body=None, headers=None):
        headers = {'Version': '2.0.0', 'Accept': 'application/json',
                   'Content-Type': 'application/json', **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body)
        response, answer = self.request(
            method, path, headers=headers, body=body)
        self.expected_success(
            [200, 201, 202, 204], int(response['status']))
        return json.loads(answer) if answer else None

    def register_vim(self, credentials, auth_url):
        """Register the cloud in which this user's VNFs run; return the VIM's id."""
        return self._call('POST', '/v1.0/vims', {'vim': {
            'name': credentials.project_name, 'type': 'openstack',
            'is_default': True, 'auth_url': auth_url,
            'vim_project': {
                'name': credentials.project_name,
                'project_domain_name': credentials.project_domain_name},
            'auth_cred': {
                'username': credentials.username,
                'password': credentials.password,
                'user_domain_name': credentials.user_domain_name},
        }})['vim']['id']

    def delete_vim(self, vim):
        """Delete a VIM."""
        self._call('DELETE', f'/v1.0/vims/{vim}')

    def create_package(self):
        """Return the id of a new package."""
        return self._call('POST', PACKAGES, {})['id']

    def upload_package(self, package, content):
        """Upload a package's content, which Tacker processes asynchronously."""
        self._call('PUT', f'{PACKAGES}/{package}/package_content', content,
                  {'Content-Type': 'application/zip'})

    def show_package(self, package):
        """Return a package as Tacker shows it."""
        return self._call('GET', f'{PACKAGES}/{package}')

    def delete_package(self, package):
        """Disable a package if it is enabled, and delete it."""
        if self.show_package(package)['operationalState'] == 'ENABLED':
            self._call('PATCH', f'{PACKAGES}/{package}',
                      {'operationalState': 'DISABLED'})
        self._call('DELETE', f'{PACKAGES}/{package}')

    def create_vnf(self, vnfd):
        """Return the id of a VNF that is not instantiated yet."""
        return self._call('POST', INSTANCES, {'vnfdId': vnfd})['id']

    def start(self, vnf, action, body):
        """Start an operation of a VNF, for example ``instantiate``."""
        self._call('POST', f'{INSTANCES}/{vnf}/{action}', body)

    def show_vnf(self, vnf):
        """Return a VNF as Tacker shows it."""
        return self._call('GET', f'{INSTANCES}/{vnf}')

    def delete_vnf(self, vnf):
        """Delete a VNF that is not instantiated."""
        self._call('DELETE', f'{INSTANCES}/{vnf}')

    def operations(self, vnf):
        """Return the operations of a VNF."""
        return self._call(
            'GET', f'{OPERATIONS}?filter=(eq,vnfInstanceId,{vnf})')
