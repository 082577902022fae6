# SPDX-License-Identifier: Apache-2.0
"""One thing that is left of nova-rt, and who removes it by what."""

import dataclasses

CLEAN = 'nova-rt-manage uninstall clean'
ABANDON = f'{CLEAN} --abandon'


@dataclasses.dataclass(frozen=True, slots=True)
class Remnant:
    """What is left in one place.

    :ivar place: where
    :ivar left: what, in a sentence
    :ivar remedy: the command that removes it, or what to do
    :ivar ours: whether nova-rt put it there; if not, it is the operator's and may stay
    """

    place: str
    left: str
    remedy: str
    ours: bool = True


def some(names: list[str]) -> str:
    """Return the first names of a list that may be long."""
    shown = ', '.join(names[:3])
    return shown if len(names) <= 3 else f'{shown} and {len(names) - 3} more'
