# SPDX-License-Identifier: Apache-2.0
"""Values in sentences."""

from typing import Any


def shown(value: Any, longest: int = 60) -> str:
    """Return a value as a sentence quotes it: its repr, shortened."""
    return shortened(repr(value), longest)


def shortened(text: str, longest: int = 60) -> str:
    """Return a text, its end replaced by an ellipsis where it is too long."""
    return text if len(text) <= longest else text[:longest - 3] + '...'
