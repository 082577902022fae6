# SPDX-License-Identifier: Apache-2.0
"""Base classes of functional tests, on top of Nova's own: its API with nova-rt in it.

:class:`ReservationTestCase` configures any Nova test case as nova-rt does;
:class:`ApiTestCase` has the API alone, and asserts what it answers.
"""

from collections.abc import Mapping
import functools
import importlib.metadata
import pathlib
from typing import Any
import warnings

import fixtures
from nova import context as nova_context
from nova import objects
from nova import test
import nova.conf
from nova.tests import fixtures as nova_fixtures
from nova.tests.functional import fixtures as func_fixtures
from oslo_serialization import jsonutils
from oslo_utils import uuidutils
import requests
from sqlalchemy import exc as sa_exc

from nova_rt import conf
from nova_rt import reservation
from nova_rt.api import paste_ini
from nova_rt.testing import nova33
from nova_rt.testing import quick_database
from nova_rt.testing import quick_policies

CONF = nova.conf.CONF

RUNTIME = reservation.EXTRA_SPEC_PREFIX + reservation.RUNTIME
PERIOD = reservation.EXTRA_SPEC_PREFIX + reservation.PERIOD


@functools.cache
def nova_paste_file() -> pathlib.Path:
    """Return the api-paste.ini that Nova's wheel installs under the prefix."""
    (path,) = (file for file in importlib.metadata.files('nova') or ()
               if file.name == 'api-paste.ini')
    return pathlib.Path(path.locate()).resolve()


def write_paste_config(case: test.TestCase, text: str) -> str:
    """Write a paste configuration; return its path."""
    path = pathlib.Path(
        case.useFixture(fixtures.TempDir()).path, 'api-paste.ini')
    path.write_text(text)
    return str(path)


class NovaTestCase(test.TestCase):
    """A Nova test case without nova-rt, on native threads, with quick databases and policies."""

    def setUp(self) -> None:
        # Nova deletes all attributes at the end, and pytest the one that it
        # set itself: what is first here comes last.
        self.addCleanup(setattr, self, self._testMethodName,
                        getattr(self, self._testMethodName))
        self.useFixture(nova33.NativeThreads(self))
        self.useFixture(quick_database.QuickDatabases())
        self.useFixture(quick_policies.QuickPolicies())
        # Nova's fixture serialises changes of cell with a lock that stops all
        # threads for ever once enough of them meet. Real contexts need none.
        self.useFixture(fixtures.MockPatchObject(
            nova_fixtures.CellDatabases, '_wrap_target_cell',
            lambda databases, context, cell: databases._real_target_cell(
                context, cell)))
        super().setUp()
        # Nova's tests make errors of what newer SQLAlchemy only deprecates.
        warnings.filterwarnings('ignore', category=sa_exc.SADeprecationWarning)
        self.flags(api_paste_config=str(nova_paste_file()), group='wsgi')


class ReservationTestCase(NovaTestCase):
    """A Nova test case whose options and API are those of nova-rt.

    Nova's integrated base classes start the API in setUp; name this class
    after them among the bases, so that it comes before nova.test.TestCase::

        class Test(integrated_helpers._IntegratedTestBase,
                   base.ReservationTestCase):
    """

    LEGACY_API = False

    def setUp(self) -> None:
        super().setUp()
        conf.register_opts(CONF)
        text = paste_ini.added(nova_paste_file().read_text())
        if not self.LEGACY_API:
            # Loading it takes as long as v2.1, and no test asks for it.
            text = text.replace(
                '/v2/+: openstack_compute_api_v21_legacy_v2_compatible\n', '')
        self.flags(api_paste_config=write_paste_config(self, text),
                   group='wsgi')


class ApiTestCase(ReservationTestCase):
    """The API alone: no conductor, scheduler or compute service answers.

    A server that is created stays in status BUILD.

    :ivar api: client of a member of the project
    :ivar admin_api: client of an administrator
    """

    API_MAJOR_VERSION = 'v2.1'
    USE_PROJECT_ID = False

    def setUp(self) -> None:
        super().setUp()
        self.policy = self.useFixture(nova_fixtures.RealPolicyFixture())
        self.useFixture(func_fixtures.PlacementFixture())
        self.useFixture(nova_fixtures.NeutronFixture(self))
        self.glance = self.useFixture(nova_fixtures.GlanceFixture(self))
        self.api_fixture = self.useFixture(nova_fixtures.OSAPIFixture(
            api_version=self.API_MAJOR_VERSION,
            use_project_id_in_urls=self.USE_PROJECT_ID))
        self.api = self.api_fixture.api
        self.admin_api = self.api_fixture.admin_api

    def post(self, path: str, body: Any, api: Any = None,
             method: str = 'POST') -> requests.Response:
        """Send a body, as JSON, and return whatever the API answers."""
        response: requests.Response = (api or self.api).api_request(
            path, method=method, body=jsonutils.dumps(body))
        return response

    def create_server(self, flavor_id: Any,
                      hints: Mapping[str, Any] | None = None,
                      api: Any = None, **more: Any) -> requests.Response:
        """Ask for a server and return whatever the API answers.

        :param more: further keys of the body's ``server``
        """
        api = api or self.api
        server = {'name': 'web', 'flavorRef': flavor_id,
                  'imageRef': self.glance.auto_disk_config_enabled_image['id']
                  } | more
        if api.microversion:
            server.setdefault('networks', 'none')
        body: dict[str, Any] = {'server': server}
        if hints is not None:
            body['os:scheduler_hints'] = hints
        return self.post('servers', body, api)

    def assert_refused(self, response: requests.Response,
                       *words: str) -> None:
        """Assert an answer of 400 in Nova's shape, one sentence long."""
        self.assertEqual(400, response.status_code, response.text)
        self.assertEqual('application/json; charset=UTF-8',
                         response.headers['Content-Type'])
        (name, fault), = response.json().items()
        self.assertEqual(('badRequest', 400), (name, fault['code']))
        sentence = fault['message']
        for word in words:
            self.assertIn(word, sentence)
        self.assertRegex(sentence, r'^[^\n]{20,300}[.?]$')

    def assert_accepted(self, response: requests.Response) -> None:
        """Assert that Nova took the request."""
        self.assertIn(response.status_code, (200, 202), response.text)


def make_flavor(extra_specs: Mapping[str, str] | None = None, vcpus: int = 1,
                public: bool = True) -> str:
    """Put a flavor into the database, past the API, and return its id."""
    flavor = objects.Flavor(
        nova_context.get_admin_context(), name=uuidutils.generate_uuid(),
        flavorid=uuidutils.generate_uuid(), vcpus=vcpus, memory_mb=64,
        root_gb=1, ephemeral_gb=0, swap=0, rxtx_factor=1.0, vcpu_weight=0,
        is_public=public, disabled=False,
        extra_specs=dict(extra_specs or {}), projects=[])
    flavor.create()
    return flavor.flavorid
