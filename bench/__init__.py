# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: what nova-rt costs, compared with what a user has without it.

``python -m bench`` prints a table and writes ``bench/results.json``.
"""

import os

# Native threads, as in Nova's services: nova.tests would choose eventlet.
# This must come before any other import of Nova.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')

from nova import monkey_patch

monkey_patch.patch(backend='threading')

from nova import objects  # noqa: E402

objects.register_all()
