# SPDX-License-Identifier: Apache-2.0
"""Nova in this process, on its own fixtures, with the log level of a service."""

from collections.abc import Iterator
import contextlib
import logging
from typing import TypeVar

from nova_rt.testing import cases

_T = TypeVar('_T', bound=cases.ReservationTestCase)


class Case(cases.ReservationTestCase):
    """Options, databases (SQLite in memory) and one cell."""

    def runTest(self) -> None:
        """Do nothing: only the fixtures are needed."""


@contextlib.contextmanager
def running(case: type[_T]) -> Iterator[_T]:
    """Enter the fixtures of a test case, which has a method ``runTest``.

    They format every debug message; services do not, so that is switched off.
    """
    entered = case('runTest')
    try:
        entered.setUp()
        logging.disable(logging.DEBUG)
        yield entered
    finally:
        logging.disable(logging.NOTSET)
        entered.doCleanups()
