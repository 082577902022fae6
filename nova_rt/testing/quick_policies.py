# SPDX-License-Identifier: Apache-2.0
"""Makes Nova's policies quick to load.

Each test of Nova's loads them twice, from a file of some 250 rules and as many defaults. That
is a ninth of what a short test costs, and the result is always the same.
"""

import copy
import functools

import fixtures
from oslo_policy import policy

_parse = policy.parse_file_contents


class QuickPolicies(fixtures.Fixture):
    """Parses each text once in a process, and copies no more of a rule than is changed.

    Use it before Nova's policies are loaded, that is, before the setUp() of Nova's test
    case.
    """

    def _setUp(self) -> None:
        for target, name, value in (
                (policy, 'parse_file_contents', _parse_once),
                (policy.Enforcer, 'register_default', _register_default)):
            self.useFixture(fixtures.MockPatchObject(target, name, value))


def _parse_once(data: str | bytes) -> dict[str, str]:
    # The caller may change what it gets.
    return dict(_parsed(data))


@functools.lru_cache(maxsize=16)
def _parsed(data: str | bytes) -> dict[str, str]:
    return _parse(data)


def _register_default(enforcer: policy.Enforcer, default: policy.RuleDefault) -> None:
    """As Enforcer's own; a rule's checks, which that copies too, nobody changes."""
    if default.name in enforcer.registered_rules:
        raise policy.DuplicatePolicyError(default.name)
    enforcer.registered_rules[default.name] = copy.copy(default)
