# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document."""

import inspect
import json
import pathlib

import jsonschema
import pytest

from nova_rt import policies
from nova_rt.rest import handlers
from nova_rt.rest import openapi
from nova_rt.rest import routes

ROOT = pathlib.Path(__file__).parents[4]


def test_the_published_document_is_that_of_the_code():
    published = json.loads((ROOT / 'doc/source/reference/openapi.json').read_text())
    assert published == json.loads(json.dumps(openapi.document())), (
        'run "python -m nova_rt.rest.openapi > doc/source/reference/openapi.json"')


@pytest.mark.parametrize('endpoint', routes.ENDPOINTS, ids=lambda each: each.path)
def test_each_schema_is_one(endpoint):
    for schema in (endpoint.answer, endpoint.body or {}, *endpoint.query.values()):
        jsonschema.Draft202012Validator.check_schema(schema)


def test_operations_have_names_of_their_own():
    names = [each.handle.__name__ for each in routes.ENDPOINTS]
    assert len(names) == len(set(names))


def test_each_endpoint_has_a_policy_that_names_it():
    rules = {rule.name: rule for rule in policies.list_rules()}
    for endpoint in routes.ENDPOINTS:
        assert {'method': endpoint.method, 'path': endpoint.path} in rules[
            endpoint.rule].operations


def test_no_handler_is_forgotten():
    folder = pathlib.Path(handlers.__file__).parent
    modules = {path.stem for path in folder.glob('*.py')} - {'__init__', 'common'}
    used = {inspect.getmodule(each.handle).__name__.rpartition('.')[2]
            for each in routes.ENDPOINTS}
    assert used == modules
