# SPDX-License-Identifier: Apache-2.0
"""What a check finds: that all is well, or what is wrong and what to do."""

import dataclasses

OK = 'ok'
WARNING = 'warning'
WRONG = 'wrong'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    :ivar check: what
    :ivar verdict: ``ok``; ``warning``, with less room than there could be;
        ``wrong``, where reservations cannot be held
    :ivar found: what is so, a sentence
    :ivar advice: what to do, empty where nothing is
    """

    check: str
    verdict: str
    found: str
    advice: str = ''


def good(check: str, found: str) -> Finding:
    """Return that nothing needs to be done."""
    return Finding(check, OK, found)


def warning(check: str, found: str, advice: str) -> Finding:
    """Return that there is less room than there could be."""
    return Finding(check, WARNING, found, advice)


def wrong(check: str, found: str, advice: str) -> Finding:
    """Return that reservations cannot be held."""
    return Finding(check, WRONG, found, advice)


def from_error(check: str, exc: Exception) -> Finding:
    """Return what is wrong from a sentence "what: what to do."."""
    found, _, advice = str(exc).rstrip('.').partition(': ')
    return wrong(check, found, advice)
