# SPDX-License-Identifier: Apache-2.0
"""What nova-rt costs, each time beside what a user would have without it.

``python -m bench`` prints a table and writes ``bench/results.json``.
"""

import os

# Native threads, as Nova's services use them; nova.tests would choose
# eventlet, and nothing else of Nova may be imported before.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')

from nova import monkey_patch

monkey_patch.patch(backend='threading')

from nova import objects  # noqa: E402

objects.register_all()
