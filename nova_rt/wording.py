# SPDX-License-Identifier: Apache-2.0
"""Values in sentences."""

from collections.abc import Iterable


def shown(value: object, longest: int = 60) -> str:
    """Return a value as a sentence quotes it: its repr, shortened."""
    return shortened(repr(value), longest)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def rounded(value: float, digits: int = 6) -> str:
    """Return a number with so many digits; a large one as a whole number."""
    text = f'{value:.{digits}g}'
    return f'{value:.0f}' if 'e+' in text else text


def shortened(text: str, longest: int = 60) -> str:
    """Return a text, its end replaced by an ellipsis where it is too long."""
    return text if len(text) <= longest else text[:longest - 3] + '...'


def silent(cells: Iterable[str]) -> str:
    """Return that hosts are left out as the databases of their cells do not answer."""
    return (f'No answer came from the database of {", ".join(cells)}, so the hosts there are '
            'left out: try again later.')
