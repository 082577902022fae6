# SPDX-License-Identifier: Apache-2.0
"""``python -m bench``: measure everything, print and write the results."""

import argparse
from collections.abc import Iterator
import logging
import os
from pathlib import Path
import sys
import time

from bench import acceptance
from bench import claim
from bench import host_filter
from bench import kernel
from bench import kernel_picture
from bench import kubernetes
from bench import listing
from bench import machine_spawn
from bench import measure
from bench import misses
from bench import model
from bench import moves
from bench import placement
from bench import reaction
from bench import report
from bench import scheduler
from bench import scrape
from bench import spawn
from bench import translation
from bench import vcpu_threads
from stack.errors import StackError
from stack.interruption import interruptible

RESULTS = Path(__file__).parent / 'results.json'


def main() -> int:
    """Return 0 if everything was measured, even if aims are missed.

    After a failure, what was measured until then is written.
    """
    parser = argparse.ArgumentParser(prog='python -m bench')
    parser.add_argument(
        '--without-stack', action='store_true',
        help='compare claim and application with a spawn in Nova\'s '
             'functional fixtures, not on a real stack')
    parser.add_argument(
        '--without-kernel', action='store_true',
        help='do not run the tests of our kernel beside the stock one')
    args = parser.parse_args()
    interruptible()
    _log_to_nowhere()
    measurements: list[measure.Measurement] = []
    status = 0
    try:
        for measurement in _shown(args.without_stack):
            measurements.append(measurement)
        if not args.without_kernel:
            measurements += _kernel()
    except (StackError, RuntimeError) as exc:
        print(exc, file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print('Interrupted; everything was given back.', file=sys.stderr)
        status = 130
    report.write(RESULTS, measurements)
    missed = [aim for measurement in measurements for aim in measurement.aims if not aim.met]
    print(f'{len(missed)} aim(s) missed. Written to {RESULTS}.')
    return status


def _log_to_nowhere() -> None:
    """Write log lines, as a service does, but not into the table."""
    root = logging.getLogger()
    root.handlers = [logging.FileHandler(os.devnull)]
    root.setLevel(logging.INFO)


def _shown(without_stack: bool) -> Iterator[measure.Measurement]:
    """Yield each measurement as soon as it is printed."""
    print(report.HEADER)
    added = measure.Spread(0, 0, 0)
    for part in (placement, acceptance, moves, model, translation, host_filter, scheduler,
                 vcpu_threads, scrape, misses, reaction, claim, kubernetes):
        began = time.monotonic()
        for measurement in part.measurements():
            print(report.line(measurement), flush=True)
            if measurement.name == claim.ADDED:
                added = measurement.ours
            yield measurement
        print(f'  ({time.monotonic() - began:.0f} s)', flush=True)
    for measurement in (*spawn.measurements(added, without_stack),
                        *machine_spawn.measurements(without_stack),
                        *listing.measurements(without_stack)):
        print(report.line(measurement), flush=True)
        yield measurement


def _kernel() -> list[measure.Measurement]:
    """Return what the tests of the kernel measured, printed and drawn."""
    cases = kernel.run()
    measurements = list(kernel.measurements(cases))
    for measurement in measurements:
        print(report.line(measurement))
    if cases:
        print('Drawn in', *kernel_picture.draw(cases))
    return measurements


if __name__ == '__main__':
    try:
        sys.exit(main())
    finally:
        # oslo.log writes uncaught exceptions into the log, which nobody reads here.
        sys.excepthook = sys.__excepthook__
