# SPDX-License-Identifier: Apache-2.0
"""Run jobs in parallel, each as soon as the jobs it needs are done."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait
from graphlib import TopologicalSorter
import logging
import time

from stack.errors import StackError

LOG = logging.getLogger(__name__)
Report = Callable[[str, float], None]


def run(
    jobs: Mapping[str, Callable[[], None]],
    needs: Mapping[str, Iterable[str]],
    report: Report,
) -> None:
    """Run all jobs.

    :param jobs: what to do, by name.
    :param needs: for each name, the names that come before it.
    :param report: called with name and duration in seconds after each.
    :raises StackError: if a job fails; no further job is started.
    """
    order = TopologicalSorter(needs)
    order.prepare()
    pool = ThreadPoolExecutor(max_workers=len(jobs))
    running: dict[Future[float], str] = {}
    try:
        while order.is_active():
            for name in order.get_ready():
                running[pool.submit(_timed, name, jobs[name])] = name
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                name = running.pop(future)
                report(name, future.result())
                order.done(name)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _timed(name: str, job: Callable[[], None]) -> float:
    started = time.monotonic()
    try:
        job()
    except StackError:
        raise
    except Exception as exc:
        LOG.exception('%s failed', name)
        raise StackError(
            f'{name} failed: {type(exc).__name__}: {exc}') from exc
    return time.monotonic() - started
