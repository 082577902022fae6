# SPDX-License-Identifier: Apache-2.0
"""Any descriptor gives the right template or a sentence.

FULL=1 tries 20,000: half of them generated, half mutated.
"""

from collections.abc import Iterator
import copy
from pathlib import Path
import random
import re

import hypothesis
from hypothesis import strategies as st
import pytest
import yaml

from nova_rt import reservation
from nova_rt.testing import full
from tacker_rt.tests import outcome

TOSCA = Path(__file__).parents[3] / 'tosca'
TRIES = 10_000 if full.WANTED else 60
RUNTIME, PERIOD = reservation.HINTS
NAMES = re.compile(r'(hw:)?cpu\.rt_(runtime|period)_us')
TYPOS = {'cpu.rt_runtim_us': RUNTIME, 'cpu.rt_runtime': RUNTIME,
         'cpu_rt_runtime_us': RUNTIME, 'CPU.RT_RUNTIME_US': RUNTIME,
         'hw:cpu.rt_runtime_us': RUNTIME, 'rt_runtime_us': RUNTIME,
         'cpu.rt_periode_us': PERIOD, 'cpu.rt_peroid_us': PERIOD,
         'cpu.rt-period-us': PERIOD, 'period_us': PERIOD}

good_times = st.integers(100, 4_194_304).flatmap(
    lambda period: st.tuples(st.integers(2, period), st.just(period))).filter(
        lambda times: (times[0] << 20) // times[1] >= 1)
bad_values = st.one_of(
    st.integers(max_value=1), st.integers(min_value=4_194_305),
    st.floats(), st.booleans(), st.none(), st.text(max_size=8).filter(
        lambda text: not text.isdigit()),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2))


@st.composite
def vdus(draw):
    """Return a VDU, its reservation, and what a refusal has to say."""
    runtime, period = draw(good_times)
    as_text = draw(st.booleans())
    allocation = {RUNTIME: str(runtime) if as_text else runtime,
                  PERIOD: period}
    said = None
    kind = draw(st.sampled_from(
        ['plain', 'good', 'good', 'value', 'typo', 'swapped', 'half',
         'input', 'stray']))
    if kind == 'plain':
        allocation, runtime = {'cpu_affinity': 'shared'}, None
    elif kind == 'value':
        allocation[RUNTIME] = draw(bad_values)
        said = RUNTIME
    elif kind == 'typo':
        typo = draw(st.sampled_from(sorted(TYPOS)))
        said = TYPOS[typo]
        allocation[typo] = allocation.pop(said)
    elif kind == 'swapped' and runtime < period:
        allocation = {RUNTIME: period, PERIOD: runtime}
        said = 'runtime' if runtime >= 100 else PERIOD
    elif kind == 'half':
        del allocation[PERIOD]
        said = f'{PERIOD} is not'
    elif kind == 'input':
        allocation[RUNTIME] = {'get_input': 'runtime'}
    compute = {'num_cpus': draw(st.integers(1, 64)),
               'mem_size': f'{draw(st.integers(1, 4096))} MB',
               'cpu_allocation': allocation}
    if kind == 'stray':
        compute.update(compute.pop('cpu_allocation'))
        said = 'Nothing reads a reservation here'
    expected = {RUNTIME: {'get_param': 'runtime'} if kind == 'input'
                else runtime, PERIOD: period} if runtime else {}
    return ({'type': 'tosca.nodes.nfv.VDU.Tacker', 'capabilities': {
        'nfv_compute': {'properties': compute}}}, expected, said)


@hypothesis.settings(
    max_examples=TRIES,
    suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(st.lists(vdus(), min_size=1, max_size=3), st.booleans())
def test_a_generated_descriptor_gives_what_it_asks_for_or_a_sentence(
        given, in_flavor):
    descriptor = {'topology_template': {
        'inputs': {'runtime': {'type': 'integer'}},
        'node_templates': {
            f'VDU{number}': vdu for number, (vdu, _, _) in enumerate(given)}}}
    found = outcome.of(yaml.safe_dump(descriptor), '--form',
                       'flavor' if in_flavor else 'hints')
    refused = [said for _, _, said in given if said]
    for said in refused:
        assert said in found.sentences
    assert found.status == (1 if refused else 0), found.sentences
    if refused:
        assert not found.templates
        return
    for number, (_, expected, _) in enumerate(given):
        got = found.reservation(f'VDU{number}')
        assert {name: _unwrapped(value) for name, value in got.items()
                } == expected


def _unwrapped(value):
    """Return the number or parameter that an extra spec or hint stands for."""
    if isinstance(value, dict) and 'str_replace' in value:
        return value['str_replace']['params']['$value']
    return int(value) if isinstance(value, str) else value


def seeds() -> list[str]:
    """Return the descriptors that are mutated."""
    return [path.read_text() for folder in ('paper', 'examples')
            for path in sorted((TOSCA / folder).glob('*.yaml'))]


VALUES = [None, [], {}, -1, 0, 1, 99, 10 ** 30, 1.5, True, '', 'dedicated',
          '60ms', '60000', [60000], '1e5', '4096 MB', {'get_input': 'runtime'},
          {'get_input': 'none'}, {'get_property': ['SELF', 'flavor']},
          {RUNTIME: 60000, PERIOD: 100000}, f'{RUNTIME}: 60000']
KEYS = [*TYPOS, RUNTIME, PERIOD, 'cpu_allocation', 'nfv_compute', 'flavor',
        'properties', 'capabilities', 'type', 'cpu_affinity', 'num_cpus',
        'scheduler_hints', 'worker', 'host', 7, None, True]


def mutated(text: str, chance: random.Random) -> str:
    """Return a text with a few things changed as people and tools do."""
    if chance.random() < 0.5:
        return in_characters(text, chance)
    content = yaml.safe_load(text)
    for _ in range(chance.randint(1, 2)):
        in_structure(content, chance)
    return yaml.safe_dump(content, sort_keys=False)


def in_structure(content: object, chance: random.Random) -> None:
    """Change one map or list somewhere in a document."""
    above = chance.choice(list(maps(content)))
    if not above:
        above['new'] = copy.deepcopy(chance.choice(VALUES))
        return
    key = chance.choice(list(above))
    change = chance.randrange(5)
    if change == 0:
        del above[key]
    elif change == 1:
        above[chance.choice(KEYS)] = above.pop(key)
    elif change == 2:
        above[chance.choice(KEYS)] = copy.deepcopy(chance.choice(VALUES))
    elif change == 3:
        above[key] = copy.deepcopy(chance.choice(VALUES))
    else:
        other = chance.choice(list(maps(content)))
        other[key] = copy.deepcopy(above[key])


def maps(value: object) -> Iterator[dict[object, object]]:
    """Yield all maps within a document that is a tree."""
    if isinstance(value, dict):
        yield value
        for each in list(value.values()):
            yield from maps(each)
    elif isinstance(value, list):
        for each in value:
            yield from maps(each)


def in_characters(text: str, chance: random.Random) -> str:
    """Change lines and characters of a text that is no comment."""
    lines = [line for line in text.splitlines() if not line.startswith('#')]
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        at = chance.randrange(len(lines))
        line = lines[at]
        change = chance.randrange(8)
        if change == 0:
            del lines[at]
        elif change == 1:
            lines.insert(chance.randrange(len(lines) + 1), line)
        elif change == 2:
            lines[at] = ' ' * chance.randrange(14) + line.lstrip()
        elif change == 3:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], line
        elif change == 4 and line:
            place = chance.randrange(len(line))
            lines[at] = line[:place] + chance.choice(
                ':-{}[]#&*!|>\'"%@`,? \tazAZ09._\u00b5') + line[place + 1:]
        elif change == 5 and ':' in line:
            lines[at] = line.partition(':')[0] + ': ' + chance.choice(
                ['0x10', '60_000', '&a [*a]', '2001-99-99', '9' * 5000,
                 '!!python/none x', '~', '.inf', 'yes', '"60000"', '1:30'])
        elif change == 6:
            lines[at] = NAMES.sub(lambda match: chance.choice(
                [*TYPOS, RUNTIME, PERIOD]), line)
        elif chance.random() < 0.2:
            lines = [each.strip() for each in lines]
        if not lines:
            return ''
    return '\n'.join(lines) + '\n'


def asked(value: object, seen: set[int]) -> Iterator[str]:
    """Yield every name of ours that is a key, wherever it stands."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(key, str) and NAMES.fullmatch(key):
                yield key.removeprefix('hw:')
            yield from asked(each, seen)
    elif isinstance(value, list):
        for each in value:
            yield from asked(each, seen)


def node_templates(text: str) -> dict[str, object]:
    content = yaml.safe_load(text)
    return (content.get('topology_template') or {}).get(
        'node_templates') or {}


@pytest.mark.parametrize('chunk', range(10))
def test_a_mutated_descriptor_gives_a_template_or_a_sentence(chunk):
    given = seeds()
    for number in range(chunk, TRIES, 10):
        chance = random.Random(number)
        text = mutated(chance.choice(given), chance)
        found = outcome.of(text)
        assert found.status in (0, 1), (number, text)
        if found.status == 1:
            assert found.sentences.strip(), (number, text)
            assert 'Traceback' not in found.sentences
            continue
        _nothing_is_lost(number, text, found)


def _nothing_is_lost(number: int, text: str, found: outcome.Outcome) -> None:
    """Look for each name of the descriptor in the templates."""
    try:
        nodes = node_templates(text)
    except (yaml.YAMLError, AttributeError, ValueError):
        # Indentation or dots that tacker-rt makes good for.
        written = text.replace(' ', '')
        assert (RUNTIME in written) <= bool(
            any(map(found.reservation, found.servers()))), (number, text)
        return
    for vdu, node in nodes.items():
        names = set(asked(node, set()))
        if names:
            assert set(found.reservation(vdu)) == names, (number, text)
