# SPDX-License-Identifier: Apache-2.0
"""Numba where it is installed; otherwise the same code as plain Python."""

from collections.abc import Callable
import contextlib
import importlib
from typing import Any
from typing import cast
from typing import TypeVar

numba: Any = None
with contextlib.suppress(ImportError):
    numba = importlib.import_module('numba')

_F = TypeVar('_F', bound=Callable[..., object])


def jit(function: _F) -> _F:
    """Compile a function of numbers and arrays; same meaning, much faster.

    The result is kept on disk until the function's own file changes, so the
    function must call no compiled function of another file.
    """
    if numba is None:
        return function
    return cast(_F, numba.njit(cache=True)(function))


def jit_anew(function: _F) -> _F:
    """Compile in every process; may call what other files compile."""
    if numba is None:
        return function
    return cast(_F, numba.njit(function))


def plain(function: _F) -> _F:
    """Return the Python function of a compiled one, whose numbers have no limit."""
    return cast(_F, getattr(function, 'py_func', function))
