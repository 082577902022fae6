# SPDX-License-Identifier: Apache-2.0
"""nova-rt-conductor: nova-conductor whose new servers may wait for room."""

# Nova must be told how it runs before anything else of it is imported.
from nova import monkey_patch

monkey_patch.patch(backend='threading')

import sys  # noqa: E402

from nova.cmd import conductor  # noqa: E402

from nova_rt import errors  # noqa: E402
from nova_rt.conductor import hooks  # noqa: E402


def main() -> None:
    """Run the service; what keeps it from starting is one sentence."""
    try:
        hooks.install()
        conductor.main()
    except errors.NovaRTError as exc:
        sys.exit(f'nova-rt-conductor: {exc}')
