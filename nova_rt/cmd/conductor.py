# SPDX-License-Identifier: Apache-2.0
"""nova-rt-conductor: nova-conductor whose new servers may wait for room."""

from nova_rt.cmd import concurrency

concurrency.use_threads()

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
