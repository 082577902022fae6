# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks hand on to each other."""

import types

import pytest

from bench import __main__ as benchmarks
from bench import claim
from bench import measure
from bench import spawn as spawning

PARTS = ('placement', 'acceptance', 'moves', 'model', 'translation', 'host_filter', 'scheduler',
         'vcpu_threads', 'scrape', 'misses', 'reaction', 'kubernetes', 'machine_spawn', 'listing')


def measured(name, value):
    return measure.Measurement(name, 'µs', measure.Spread(value, value, value))


@pytest.fixture
def spawn(monkeypatch):
    """Have each part measure one thing; return what the spawn was told."""
    told = []
    for part in PARTS:
        monkeypatch.setattr(benchmarks, part, types.SimpleNamespace(
            measurements=lambda *_, part=part: [measured(part, 1.0)]))
    monkeypatch.setattr(claim, 'measurements', lambda: [
        measured('claim', 2.0), measured(claim.ADDED, 3.0)])
    monkeypatch.setattr(spawning, 'measurements',
                        lambda added, without_stack: told.append(added) or [])
    return told


def test_the_part_of_a_spawn_is_that_of_claim_and_application(spawn):
    names = [measurement.name for measurement in benchmarks._shown(without_stack=True)]
    assert names == [*PARTS[:11], 'claim', claim.ADDED, *PARTS[11:]]
    assert spawn == [measure.Spread(3.0, 3.0, 3.0)]
