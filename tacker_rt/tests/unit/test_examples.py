# SPDX-License-Identifier: Apache-2.0
"""Everything in tosca/: right by itself, by ETSI's types, and for Heat."""

from pathlib import Path
import shutil

from heat.common import template_format
from heat.engine import environment
from heat.engine import properties
from heat.engine import resources
from heat.engine import template as heat_template
import pytest
import yaml

from nova_rt import reservation
from tacker_rt import command
from tacker_rt import hot
from tacker_rt.tests import outcome
from tacker_rt.tests import upstream

TOSCA = Path(__file__).parents[3] / 'tosca'
EXAMPLES = sorted((TOSCA / 'examples').glob('*.yaml'))
HEAT = sorted((TOSCA / 'hot').glob('*.yaml'))
PACKAGES = {'standard': '2.6.1', 'default': '2.7.1'}
CHECKED = (hot.SERVER, hot.FLAVOR)


@pytest.fixture(scope='module', autouse=True)
def _heat():
    """Load Heat's own resource types, as heat-engine does."""
    resources.initialise()


def valid_for_heat(content):
    """Check servers and flavors as heat-engine does, but for what exists."""
    parsed = heat_template.Template(
        template_format.parse(content), env=environment.Environment())
    parsed.validate()
    declared = set(parsed.t.get('parameters') or {})
    for name, resource in (parsed.t['resources']).items():
        if resource['type'] in CHECKED:
            _valid_resource(name, resource, declared)


def _valid_resource(name, resource, declared):
    def resolved(value, nullable=False):
        if isinstance(value, dict):
            if 'get_param' in value:
                assert value['get_param'] in declared
                return '1'
            if 'get_resource' in value:
                return 'id'
            return {key: resolved(each) for key, each in value.items()}
        if isinstance(value, list):
            return [resolved(each) for each in value]
        return value
    kind = resources.global_env().get_class(resource['type'])
    checked = properties.Properties(
        properties.schemata(kind.properties_schema), resource['properties'],
        resolver=resolved, parent_name=name)
    # Images, flavors and networks exist on a cloud only.
    checked.validate(with_value=False)
    specs = resource['properties'].get('extra_specs') or {}
    assert all(isinstance(value, (str, dict)) for value in specs.values())


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_right(path, capsys):
    assert command.main(['validate', str(path)]) == 0


@pytest.mark.parametrize('form', ['hints', 'flavor'])
@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_an_example_becomes_templates_that_heat_takes(path, form):
    found = outcome.of(path.read_text(), '--form', form)
    assert found.status == 0, found.sentences
    assert set(found.reservation('worker')) >= {reservation.RUNTIME}
    for template in found.templates.values():
        valid_for_heat(yaml.safe_dump(template))


@pytest.mark.parametrize('path', HEAT, ids=lambda path: path.stem)
def test_a_heat_example_is_one_that_heat_takes(path):
    valid_for_heat(path.read_text())


def test_the_heat_examples_ask_for_the_same_in_both_forms():
    hints, flavor = (yaml.safe_load((TOSCA / 'hot' / name).read_text())
                     for name in ('hints.yaml', 'flavor.yaml'))
    given = hints['resources']['server']['properties']['scheduler_hints']
    specs = flavor['resources']['flavor']['properties']['extra_specs']
    assert {f'hw:{name}': value for name, value in given.items()} == specs
    for name in ('runtime_us', 'period_us'):
        assert hints['parameters'][name] == flavor['parameters'][name]


@pytest.mark.parametrize('name', PACKAGES)
def test_a_package_has_base_templates_that_heat_takes(name):
    for path in (TOSCA / 'packages' / name / 'BaseHOT').rglob('*.yaml'):
        valid_for_heat(path.read_text())


@pytest.mark.parametrize('form', ['hints', 'flavor'])
@pytest.mark.parametrize('name', PACKAGES)
def test_a_package_is_valid_by_the_unmodified_types_of_etsi(
        name, form, tmp_path):
    package = tmp_path / name
    shutil.copytree(TOSCA / 'packages' / name, package)
    for each in (upstream.SOL001, upstream.COMMON):
        shutil.copy(upstream.types(PACKAGES[name]) / each,
                    package / 'Definitions')
    output = tmp_path / 'main.yaml'
    assert command.main([
        'translate', str(package / 'Definitions/df_simple.yaml'), '--form',
        form, '--output', str(output)]) == 0
    texts = [path.read_text() for path in tmp_path.glob('*.yaml')]
    for text in texts:
        valid_for_heat(text)
    name_there = (reservation.RUNTIME if form == 'hints'
                  else f'hw:{reservation.RUNTIME}')
    assert sum(text.count(f' {name_there}:') for text in texts) == 1
