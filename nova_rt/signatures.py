# SPDX-License-Identifier: Apache-2.0
"""Checks, when a service starts, that Nova is the one that nova-rt builds on.

Nova documents filters, weighers, validators and paste filters as extension
points. What :mod:`nova_rt.compute.hooks` and :mod:`nova_rt.filters.hooks` put in
place rests on more than that. A Nova that has changed there refuses to start, and
says what differs, instead of misbehaving.
"""

from __future__ import annotations

from collections.abc import Mapping
import importlib
import inspect
from typing import Any

from nova import version

from nova_rt import errors

RELEASES = (33, 34)


class UnknownNovaError(errors.NovaRTError):
    """This Nova is not one that nova-rt knows; says what differs."""


def check_release(release: str) -> None:
    """Raise UnknownNovaError unless nova-rt was tested with this release."""
    if int(release.split('.')[0]) not in RELEASES:
        known = ' and '.join(map(str, RELEASES))
        raise UnknownNovaError(
            f'nova-rt knows Nova {known}, but this is Nova {release}: '
            'install a Nova or a nova-rt that fits.')


def check_signatures(expected: Mapping[str, str]) -> None:
    """Raise UnknownNovaError unless Nova has all these callables.

    :param expected: by name, as :func:`check_signature` takes them
    """
    for name, parameters in expected.items():
        check_signature(name, parameters)


def check_signature(name: str, parameters: str) -> None:
    """Raise UnknownNovaError unless Nova has this callable with these parameters.

    :param name: ``module:Class.method``
    :param parameters: their names, separated by spaces
    """
    module_name, _, path = name.partition(':')
    member: Any = importlib.import_module(module_name)
    for part in path.split('.'):
        member = getattr(member, part, None)
    if member is None:
        raise UnknownNovaError(
            f'Nova {version.version_string()} has no {name}, which nova-rt '
            'builds on: install a Nova or a nova-rt that fits.')
    actual = ' '.join(inspect.signature(member).parameters)
    if actual != parameters:
        raise UnknownNovaError(
            f'Nova {version.version_string()} has {name}({actual}), but '
            f'nova-rt expects ({parameters}): install a Nova or a nova-rt '
            'that fits.')
