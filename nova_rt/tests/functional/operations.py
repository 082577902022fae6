# SPDX-License-Identifier: Apache-2.0
"""What an operation does to a reservation, in words that are checked.

The table in the operator's guide is made from the decorators of the tests, so
a word in it is one that its test has asserted.
"""

from collections.abc import Callable
import functools

# What the ledger of the host says after the operation.
CLAIMS = ('kept', 'given up', 'made anew', 'on both hosts', 'twice')
# Which pCPUs the server holds.
PCPUS = ('the same', 'chosen anew', 'none')
# What the kernel has for the container.
BUDGETS = ('kept', 'changed', 'given back', 'applied anew', 'none')


def proves(operation: str, claim: str, pcpus: str, budget: str,
           ) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say what an operation does, and assert it after the test's steps.

    :param operation: as the table names it
    :raises ValueError: for a word that no assertion belongs to
    """
    for word, words in ((claim, CLAIMS), (pcpus, PCPUS), (budget, BUDGETS)):
        if word not in words:
            raise ValueError(f'{word!r} is none of {words}')

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(case: 'Operation') -> None:
            case.before()
            test(case)
            case.assert_claim(claim)
            case.assert_pcpus(pcpus)
            case.assert_budget(budget)
            case.assert_audited()
        return run
    return decorate


class Operation:
    """What a test case of operations offers to the decorator."""

    def before(self) -> None:
        """Note what the server holds before the operation."""

    def assert_claim(self, claim: str) -> None:
        """Assert one of CLAIMS."""

    def assert_pcpus(self, pcpus: str) -> None:
        """Assert one of PCPUS."""

    def assert_budget(self, budget: str) -> None:
        """Assert one of BUDGETS."""

    def assert_audited(self) -> None:
        """Assert that kernel, ledger, Nova and Placement say the same."""
