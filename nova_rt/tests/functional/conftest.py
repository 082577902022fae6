# SPDX-License-Identifier: Apache-2.0
from unittest import mock

import pytest

# While a test runs, Nova's fixtures forbid what loading numpy does: to ask for the machine's name.
from nova_rt.defrag import assignment  # noqa: F401
from nova_rt.testing import native_threads  # noqa: F401
from nova_rt.testing import nova33

# Their messages build on nova.thread_pool_factory, which Nova 34 brought.
collect_ignore = ([
    'test_chaos.py', 'test_any_order_of_evictions.py', 'test_any_order_of_reactions.py']
    if nova33.IN_USE else [])


@pytest.fixture(autouse=True, scope='session')
def _executors_stay():
    """Let no service that ends late close the executors of the tests that follow.

    Nova's fixture waits for no service that is stopped, and keeps it from that only until the
    test is over.
    """
    if nova33.IN_USE:
        yield
        return
    with mock.patch('nova.thread_pool_factory.shutdown_all_executors'):
        yield
