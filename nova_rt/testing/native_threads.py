# SPDX-License-Identifier: Apache-2.0
"""Native threads, as Nova's services use them, before anything else loads.

nova.tests.functional would choose eventlet, and Nova refuses to change to the other
once either has been imported. So import this before anything of Nova, as the first
line of ``conftest.py``::

    from nova_rt.testing import native_threads  # noqa: F401
"""

import os

os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')

from nova import monkey_patch

monkey_patch.patch(backend='threading')
