# SPDX-License-Identifier: Apache-2.0
"""What an endpoint is, and what it gets and gives."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from nova import context as nova_context

from nova_rt import policies

# JSON Schema, draft 2020-12, as OpenAPI 3.1 has it; and what it describes.
Schema = Mapping[str, Any]
Json = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A request that is allowed and well-formed.

    :ivar version: of the API
    :ivar context: the caller's
    :ivar policy: the rules in force
    :ivar named: what the path names
    :ivar query: by name, every parameter that has a value or a default
    :ivar body: the decoded body; empty without one
    """

    version: str
    context: nova_context.RequestContext
    policy: policies.Policy
    named: Mapping[str, str]
    query: Mapping[str, Any]
    body: Json

    @property
    def admin(self) -> nova_context.RequestContext:
        """Return a context that Nova's objects do not restrict to a project."""
        return self.context.elevated()

    def allows(self, rule: str, project: str | None = None) -> bool:
        """Return whether the caller may do something else, too."""
        return self.policy.allows(self.context, rule, project)


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of a path.

    :ivar path: with names in braces, as OpenAPI writes it
    :ivar rule: the policy that the caller must meet
    :ivar summary: what it does, for the documentation
    :ivar answer: the schema of the answer
    :ivar query: by name, the schema of each parameter; others are refused
    :ivar body: the schema of the body, None without one
    :ivar refusals: what it may answer besides 400, 401, 403, 406 and 503
    :ivar since: the version of the API that it came with
    """

    method: str
    path: str
    handle: Callable[[Call], Json]
    rule: str
    summary: str
    answer: Schema
    query: Mapping[str, Schema] = dataclasses.field(default_factory=dict)
    body: Schema | None = None
    refusals: tuple[int, ...] = ()
    since: str = '1.0'
