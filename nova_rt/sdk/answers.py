# SPDX-License-Identifier: Apache-2.0
"""What is in an answer of the API, for each of its clients."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def pages(get: Callable[[str | None], Json], what: str) -> Iterator[Json]:
    """Yield all entries of a list, page by page.

    :param get: returns the page after a marker
    :param what: under which name they are in it
    """
    marker = None
    while True:
        page = get(marker)
        yield from page[what]
        marker = page.get('next')
        if marker is None:
            return


def incompleteness(page: Json) -> str | None:
    """Return a sentence on the cells that a page lacks, None if it lacks none."""
    if not page['unreachable_cells']:
        return None
    return ('The list would not be complete, as no answer came from the database of '
            f'{", ".join(page["unreachable_cells"])}: try again later.')


def sentence(answer: Any) -> str | None:
    """Return what the API says to a refusal, None if it says nothing."""
    try:
        return str(answer.json()['errors'][0]['detail'])
    except (ValueError, LookupError, TypeError):
        return None
