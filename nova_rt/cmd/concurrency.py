# SPDX-License-Identifier: Apache-2.0
"""How Nova's services run: told before anything else of Nova is imported."""

import os

from nova import monkey_patch


def use_threads() -> None:
    """Have Nova use native threads, unless its configuration or environment says eventlet."""
    monkey_patch.patch(backend='threading')
    if not monkey_patch.is_patched():
        # nova-compute and nova-conductor of Nova 33 would choose eventlet afterwards.
        os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
