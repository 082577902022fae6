# SPDX-License-Identifier: Apache-2.0
from nova_rt.testing import native_threads  # noqa: F401
from nova_rt.testing import nova33

# Its messages build on nova.thread_pool_factory, which Nova 34 brought.
collect_ignore = ['test_chaos.py'] if nova33.IN_USE else []
