# SPDX-License-Identifier: Apache-2.0
"""Horizon in this process, a user who is logged in, and a cloud that answers as a test says."""

import contextlib
import datetime
import os
from unittest import mock

import pytest

from horizon_rt.tests.pages import cloud as fake
from horizon_rt.tests.pages import told

os.environ['DJANGO_SETTINGS_MODULE'] = 'horizon_rt.tests.pages.settings'

# Horizon must be set up before anything of it is imported.
import django

django.setup()

from django.test import Client  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402
from django.test.utils import teardown_test_environment  # noqa: E402
from openstack_auth import user as auth_user  # noqa: E402
from openstack_auth import utils as auth_utils  # noqa: E402

PROJECT = 32 * 'a'
NEVER = datetime.datetime(2999, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope='session', autouse=True)
def _environment():
    setup_test_environment()
    yield
    teardown_test_environment()


@pytest.fixture(autouse=True)
def _nothing_is_wrong_with_us(request, caplog):
    """Fail if we took a mistake of our own for an answer that is not nova-rt's."""
    yield
    if request.node.get_closest_marker('logged') is None:
        assert [record for record in caplog.get_records('call')
                if record.name.startswith('horizon_rt') and record.levelname == 'ERROR'] == []


@pytest.fixture
def cloud():
    """What answers for Keystone, Nova and nova-rt."""
    with fake.Cloud() as answering:
        yield answering


@pytest.fixture
def full(cloud):
    """A cloud that has a host."""
    told.everything(cloud)
    return cloud


@pytest.fixture
def admin(log_in):
    """A browser without a screen, in which an administrator is logged in."""
    return log_in('admin')


@pytest.fixture
def log_in(cloud):
    """Logs a user in, with roles, and returns a browser without a screen."""
    with contextlib.ExitStack() as stack:
        def enter(*roles, **more):
            user = user_of(roles, {'identity': f'{cloud.url}/identity/v3',
                                   'compute': f'{cloud.url}/compute',
                                   'rt': f'{cloud.url}/rt', **more})
            stack.enter_context(mock.patch.object(
                auth_utils, 'get_user', return_value=user))
            return Client()
        yield enter


def user_of(roles, services):
    """Return the user of a session whose catalogue has these services, by type."""
    token = mock.Mock(id='the-token', project={'id': PROJECT}, domain={}, unscoped_token=None,
                      expires=NEVER, roles=[])
    found = auth_user.User(
        id='u', token=token, user='somebody', tenant_id=PROJECT, tenant_name='p',
        service_catalog=[{'type': kind, 'name': kind, 'endpoints': [
            {'region': 'R', 'region_id': 'R', 'interface': 'public',
             'url': url}]} for kind, url in services.items() if url],
        roles=[{'name': role} for role in roles], enabled=True,
        authorized_tenants=[], endpoint=services['identity'], services_region='R')
    found._is_system_user = False
    return found
