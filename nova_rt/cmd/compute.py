# SPDX-License-Identifier: Apache-2.0
"""nova-rt-compute: nova-compute with real-time CPU reservations."""

from nova_rt.cmd import concurrency

concurrency.use_threads()

import sys  # noqa: E402

from nova.cmd import compute  # noqa: E402

from nova_rt import errors  # noqa: E402
from nova_rt.compute import hooks  # noqa: E402


def main() -> None:
    """Run the service; what keeps it from starting is one sentence."""
    try:
        hooks.install()
        compute.main()
    except errors.NovaRTError as exc:
        sys.exit(f'nova-rt-compute: {exc}')
