# SPDX-License-Identifier: Apache-2.0
from nova_rt.tests import native_threads  # noqa: F401
from nova_rt.tests.functional import nova33

# Its messages take the place of Nova 34's nova.thread_pool_factory.
collect_ignore = ['test_chaos.py'] if nova33.IS_OLD else []
