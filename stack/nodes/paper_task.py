#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The containers of the paper on a node without a control plane, as JSON.

``bare.py``, which lies beside this program in the node's folder, starts them, and
``look.py`` measures. The last line printed begins with RESULT.
"""

import json
import time

from bare import Bare  # type: ignore[import-not-found]  # beside it on the node
import look  # type: ignore[import-not-found]  # beside it on the node

from nova_rt import reservation

# Short: a window that begins within a period has up to half of one more or less.
PERIOD_US = 20_000
# Percent of each vCPU, and vCPUs: figure 5 of the OpenStack paper.
ASKED = ((50, 2), (30, 1), (40, 3))
SECONDS = 20.0  # whole periods
SETTLED = 2.0  # seconds from when every hog runs


def main() -> None:
    """Start the containers, measure what they get, end them and print the result."""
    node = Bare()
    for percent, vcpus in ASKED:
        node.start(reservation.Reservation(
            PERIOD_US * percent // 100, PERIOD_US, vcpus))
    look.wait_for_hogs()
    time.sleep(SETTLED)
    containers = look.Measured(SECONDS).containers
    node.end()
    print('\nRESULT', json.dumps(containers), flush=True)


if __name__ == '__main__':
    main()
