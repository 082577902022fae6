# SPDX-License-Identifier: Apache-2.0
"""Native threads, as Nova's services use them, before anything else loads.

nova.tests.functional would choose eventlet, and Nova refuses to change its
mind once one of the two has been imported.
"""

import os

os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')

from nova import monkey_patch

monkey_patch.patch(backend='threading')
