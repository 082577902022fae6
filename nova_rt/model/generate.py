# SPDX-License-Identifier: Apache-2.0
"""Random task sets, uniform among those of one utilisation."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import math
import random

from nova_rt.model import checks
from nova_rt.model import tasks as tasks_

MAX_TRIES = 10_000


def uunifast(count: int, total: float, source: random.Random,
             limit: float = 1.0) -> list[float]:
    """Return utilisations of tasks by UUniFast (Bini and Buttazzo, 2005).

    Vectors with an entry above the limit are thrown away, which keeps the
    rest uniform (Davis and Burns, 2009) but takes for ever near total =
    count * limit: then use :func:`rand_fixed_sum`.

    :raises checks.ModelError: if no vector is found, or the total cannot be
    """
    _check(count, total, limit)
    for _ in range(MAX_TRIES):
        rest = total
        values = []
        for left in range(count - 1, 0, -1):
            smaller = rest * source.random() ** (1 / left)
            values.append(rest - smaller)
            rest = smaller
        values.append(rest)
        if max(values) <= limit:
            return values
    raise checks.ModelError(
        f'UUniFast found no {count} tasks of utilisation {total:g} with '
        f'none above {limit:g}: use RandFixedSum.')


def rand_fixed_sum(count: int, total: float,
                   source: random.Random) -> list[float]:
    """Return utilisations from 0 to 1, uniform among those of this sum.

    Stafford's algorithm, as Emberson, Stafford and Davis (WATERS 2010)
    brought it to task sets: the polytope is cut into simplices, one is drawn
    by a walk through a table of their volumes, and a point in it uniformly.

    :raises checks.ModelError: if the total cannot be
    """
    _check(count, total, 1.0)
    if count == 1:
        return [total]
    whole = min(math.floor(total), count - 1)
    stay = _walk_table(count, total, whole)
    place, scale, offset, rest = whole, 1.0, 0.0, total
    values = []
    for left in range(count - 1, 0, -1):
        step = 1 if source.random() <= stay[left - 1][place] else 0
        shrink = source.random() ** (1 / left)
        offset += (1 - shrink) * scale * rest / (left + 1)
        scale *= shrink
        values.append(offset + scale * step)
        rest -= step
        place -= step
    values.append(offset + scale * rest)
    source.shuffle(values)
    return [min(1.0, max(0.0, value)) for value in values]


def _walk_table(count: int, total: float, whole: int) -> list[list[float]]:
    """Return, by dimensions left and place, the chance of a step down."""
    below = [total - whole + i for i in range(count)]
    above = [whole + count - i - total for i in range(count)]
    volumes = [0.0, 1.0] + [0.0] * count
    table = []
    for size in range(2, count + 1):
        following = [0.0] * (count + 2)
        chances = [0.0] * (count + 1)
        for place in range(size):
            up = volumes[place + 1] * below[place] / size
            down = volumes[place] * above[count - size + place] / size
            both = up + down
            following[place + 1] = both
            # The larger of the two is divided, for the digits' sake.
            if both <= 0:
                chances[place] = 0.0
            elif above[count - size + place] > below[place]:
                chances[place] = down / both
            else:
                chances[place] = 1 - up / both
        largest = max(following)
        volumes = [value / largest for value in following]
        table.append(chances)
    return table


def task_set(count: int, total: float, source: random.Random,
             shortest_us: int = 20_000, longest_us: int = 200_000,
             step_us: int = 1000) -> list[tasks_.Task]:
    """Return tasks with implicit deadlines by RandFixedSum.

    Periods are log-uniform multiples of a step; execution times are rounded
    to whole µs, so the utilisation is the wanted one but for that.
    """
    tasks = []
    for index, share in enumerate(rand_fixed_sum(count, total, source)):
        exponent = source.uniform(
            math.log(shortest_us), math.log(longest_us + step_us))
        period = max(shortest_us, min(
            longest_us, math.floor(math.exp(exponent) / step_us) * step_us))
        wcet = max(1, min(period, round(share * period)))
        tasks.append(tasks_.Task(wcet, period, period, f't{index}'))
    return tasks


def evaluation_sets(count: int = 150, seed: int = 1
                    ) -> Iterator[list[tasks_.Task]]:
    """Yield task sets as in `kubedeadline` section 5.1.

    Utilisations from 0.6 to 2.0 in equal steps and 4 to 12 tasks in turn.
    """
    source = random.Random(seed)
    for index in range(count):
        total = 0.6 + 1.4 * index / max(1, count - 1)
        yield task_set(4 + index % 9, total, source)


def over_decades(count: int, total: float,
                 source: random.Random) -> list[tasks_.Task]:
    """Return tasks whose periods are log-uniform from 1 ms to 10 s."""
    return task_set(count, total, source, 1000, 10_000_000, 1)


def heavy_and_light(count: int, total: float,
                    source: random.Random) -> list[tasks_.Task]:
    """Return one or two tasks that need nearly all, and many that need little.

    The light ones need from a thousandth to a hundredth of a CPU each.
    """
    heavy = min(count, source.randint(1, 2))
    shares = [source.uniform(0.001, 0.01) for _ in range(count - heavy)]
    rest = max(0.01 * heavy, total - sum(shares))
    shares += rand_fixed_sum(heavy, min(rest, 0.95 * heavy), source)
    periods = [source.randint(20_000, 400_000) for _ in shares]
    return [_task(index, share, period) for index, (share, period) in
            enumerate(zip(shares, periods, strict=True))]


def equal_periods(count: int, total: float,
                  source: random.Random) -> list[tasks_.Task]:
    """Return tasks that all have one period."""
    period = source.randint(20_000, 200_000)
    return [_task(index, share, period) for index, share in
            enumerate(rand_fixed_sum(count, total, source))]


def constrained(count: int, total: float,
                source: random.Random) -> list[tasks_.Task]:
    """Return tasks with deadlines anywhere from C to T."""
    return [dataclasses.replace(task, deadline_us=source.randint(
        task.wcet_us, task.period_us))
        for task in task_set(count, total, source, 20_000, 400_000, 1)]


def rare_and_frequent(count: int, total: float,
                      source: random.Random) -> list[tasks_.Task]:
    """Return short tasks with similar periods, the last with a long one."""
    period = source.randint(20_000, 200_000)
    tasks = [_task(index, share, source.randint(period, period * 5 // 4))
             for index, share in enumerate(rand_fixed_sum(
                 count - 1, min(total, 0.1), source) if count > 1 else [])]
    return [*tasks, tasks_.Task(
        source.randint(1, period // 20), 100 * period,
        source.randint(period // 2, 10 * period), f't{count - 1}')]


def _task(index: int, share: float, period_us: int) -> tasks_.Task:
    wcet = max(1, min(period_us, round(share * period_us)))
    return tasks_.Task(wcet, period_us, period_us, f't{index}')


# By name, each takes a count, a total utilisation and a source of chance.
GENERATORS: dict[str, Callable[
    [int, float, random.Random], list[tasks_.Task]]] = {
    'periods over four decades': over_decades,
    'heavy and light': heavy_and_light,
    'equal periods': equal_periods,
    'constrained deadlines': constrained,
    'rare and frequent': rare_and_frequent,
}


def _check(count: int, total: float, limit: float) -> None:
    checks.count('The number of tasks', count, tasks_.MAX_TASKS)
    checks.positive('The total utilisation', total)
    if total > count * limit:
        raise checks.ModelError(
            f'{count} tasks of at most {limit:g} each cannot have a '
            f'utilisation of {total:g}.')
