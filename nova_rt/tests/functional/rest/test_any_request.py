# SPDX-License-Identifier: Apache-2.0
"""Whatever is sent to the operator's API, it answers as documented and never with a 500.

Schemathesis makes requests from the OpenAPI document, valid ones and others.
"""

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies as st
import schemathesis
from schemathesis import GenerationMode

# Loaded before Nova's threads run: beside them, Python 3.11's parser fails now and then
# (SystemError: AST constructor recursion depth mismatch).
from schemathesis.specs.openapi import schemas  # noqa: F401

from nova_rt.rest import microversions
from nova_rt.rest import openapi
from nova_rt.testing import full
from nova_rt.tests.functional.rest import test_commands

# None: what Schemathesis makes of the header, most often nonsense.
VERSIONS = st.none() | st.sampled_from(microversions.VERSIONS)
EXAMPLES = 400 if full.WANTED else 12


class TestAnyRequest(test_commands.CommandsCase):

    def test_none_is_answered_with_a_500(self):
        seen = set()
        for operation in schemathesis.openapi.from_dict(openapi.document()).get_all_operations():
            for mode in GenerationMode:
                seen |= self.send_any(operation.ok(), mode)
        print(sorted(seen))
        # Requests went through to what is there, and were refused for their form.
        for answer in (('/hosts/{host}', 200), ('/servers/{server}', 200), ('/why', 200),
                       ('/why', 400), ('/servers/{server}/reservation', 200),
                       ('/servers/{server}/reservation', 400), ('/hosts/{host}/plan', 200),
                       ('/hosts/{host}/moves', 400)):
            self.assertIn(answer, seen)

    def send_any(self, operation, mode):
        """Send an operation's requests; return which paths were answered how."""
        seen = set()
        names = st.sampled_from(['host1', self.web['id'], self.db['id'], self.large['id']])

        # Always the same few requests, or those that are to be among them may be missing.
        @settings(max_examples=EXAMPLES, deadline=None, database=None,
                  derandomize=not full.WANTED, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode), real=st.none() | names,
               flavor=st.none() | st.just(self.flavor), version=VERSIONS)
        def send(case, real, flavor, version):
            if real and case.path_parameters:
                case.path_parameters = dict.fromkeys(case.path_parameters, real)
            case.headers['X-Auth-Token'] = 'admin'
            if version:
                case.headers[microversions.HEADER] = f'{microversions.SERVICE_TYPE} {version}'
            if flavor and isinstance(case.body, dict) and 'flavor' in case.body:
                case.body['flavor'] = flavor
            answer = case.call(base_url=test_commands.URL)
            assert answer.status_code < 500, answer.text
            seen.add((operation.path, answer.status_code))
        send()
        return seen
