# SPDX-License-Identifier: Apache-2.0
"""A simulator of one group beside a load, tick by tick, to compare with.

Nothing is shared with the event loop but the rules. Times in ticks.
"""


class Server:
    def __init__(self, pcpu, runtime, period, back, load=False):
        self.pcpu, self.runtime, self.period = pcpu, runtime, period
        self.budget = 0 if back else runtime
        self.until, self.throttled, self.load = back, bool(back), load
        self.queue = ['load'] if load else []
        # A load finds its first work at time 0, like any other task.
        self.fresh = True


def simulate(servers, tasks, arrivals, horizon):
    """Return the finish time of each (task, job), as a dictionary.

    :param tasks: (wcet, deadline), highest priority first
    :param arrivals: by task, times in ascending order
    """
    finish, left = {}, {}
    homes = {i: next(s for s in servers if not s.load)
             for i in range(len(tasks))}
    jobs = [0] * len(tasks)
    for now in range(horizon + 1):
        before = {id(s): bool(s.queue) and not s.fresh for s in servers}
        for i, (wcet, _) in enumerate(tasks):
            if left.get(i) == 0:
                finish[i, jobs[i]] = now
                jobs[i] += 1
                del left[i]
                homes[i].queue.remove(i)
            if i not in left and jobs[i] < len(arrivals[i]) and (
                    arrivals[i][jobs[i]] <= now):
                left[i] = wcet
                homes[i].queue.append(i)
        for s in servers:
            if not s.throttled and s.budget == 0:
                s.throttled = True
            if s.throttled and s.until <= now:
                s.throttled = False
                s.budget, s.until = s.runtime, s.until + s.period
        migrate([s for s in servers if not s.load], homes)
        for s in servers:
            awake = bool(s.queue) and not s.throttled
            if awake and not before[id(s)]:
                room = s.until - now
                if room <= 0 or s.budget * s.period > room * s.runtime:
                    s.budget, s.until = s.runtime, now + s.period
            s.fresh = False
        for pcpu in {s.pcpu for s in servers}:
            ready = [s for s in servers if s.pcpu == pcpu and s.queue
                     and not s.throttled]
            if ready:
                chosen = min(ready, key=lambda s: s.until)
                chosen.budget -= 1
                if not chosen.load:
                    left[min(chosen.queue)] -= 1
    return finish


def migrate(servers, homes):
    """Move waiting tasks, most urgent first, to the least urgent servers."""
    while True:
        runs = {min(s.queue) for s in servers if s.queue and not s.throttled}
        waiting = sorted(t for s in servers for t in s.queue
                         if t not in runs)
        able = [s for s in servers if not s.throttled]
        if not waiting or not able:
            return
        task = waiting[0]
        target = max(able, key=lambda s: (
            min(s.queue, default=10 ** 6), s is homes[task],
            -servers.index(s)))
        if min(target.queue, default=10 ** 6) <= task:
            return
        homes[task].queue.remove(task)
        target.queue.append(task)
        homes[task] = target
