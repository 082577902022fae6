# SPDX-License-Identifier: Apache-2.0
"""A stack whose only host is Blazar's to lease, and what its users ask Blazar for.

NOVA_RT_LEASES_RUN_DIR names the run directory of one that is up already: the tests then
use it and leave it running.
"""

import contextlib
import importlib.util

import openstack.exceptions
import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import stacks

MINUTE = '%Y-%m-%d %H:%M'
# Blazar looks for what is due every ten seconds.
PATIENCE = 240.0


@pytest.fixture(scope='session')
def stack():
    """A real OpenStack with Blazar; skips where there can be none."""
    if importlib.util.find_spec('blazar') is None:
        pytest.skip('Blazar is not installed: stack/requirements.txt names it.')
    with stacks.running('leases', more=('leases',)) as cloud:
        yield cloud


class Blazar:
    """A user's side of the reservation API."""

    def __init__(self, cloud):
        self._cloud = cloud

    def ask(self, method, path, **body):
        """Return what is answered.

        :raises openstack.exceptions.HttpException: if it is refused.
        """
        answer = self._cloud.session.request(
            path, method, endpoint_filter={'service_type': 'reservation'},
            raise_exc=False, **({'json': body} if body else {}))
        openstack.exceptions.raise_from_response(answer, answer.text)
        return answer.json() if answer.text else {}

    def lease(self, flavor, amount, end):
        """Lease a number of servers of a flavor from now on; return the lease."""
        return self.ask('POST', '/leases', **{
            'name': f'{amount} of {flavor}', 'start_date': 'now', 'events': [],
            'end_date': end.strftime(MINUTE), 'reservations': [{
                'resource_type': 'flavor:instance', 'flavor_id': flavor, 'amount': amount,
                'affinity': None}]})['lease']

    def without_leases(self):
        """Delete all leases; return whether there were none."""
        leases = self.ask('GET', '/leases')['leases']
        for lease in leases:
            # One that is just beginning or ending is not deleted yet.
            with contextlib.suppress(openstack.exceptions.HttpException):
                self.ask('DELETE', f'/leases/{lease["id"]}')
        return not leases

    def becomes(self, lease, status):
        """Wait until a lease has a status."""
        driver.until(lambda: self.ask('GET', f'/leases/{lease["id"]}')['lease']['status']
                     == status, f'lease {lease["name"]} is {status}', PATIENCE, 1)


@pytest.fixture
def blazar(stack, operator, user):
    """The ordinary user's Blazar, which has the only host; at the end it has no lease."""
    theirs, ours = Blazar(user.cloud), Blazar(operator)
    (host,) = operator.compute.hypervisors()
    entry = ours.ask('POST', '/os-hosts', name=host.name)['host']
    yield theirs
    driver.until(ours.without_leases, 'no lease is left', PATIENCE, 1)
    ours.ask('DELETE', f'/os-hosts/{entry["id"]}')
