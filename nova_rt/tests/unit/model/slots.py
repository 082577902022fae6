# SPDX-License-Identifier: Apache-2.0
"""A simulator of groups on shared pCPUs, tick by tick, to compare with.

Nothing is shared with the event loop but the rules. Times in ticks.
"""

ENDLESS = 10 ** 9


class Server:
    def __init__(self, pcpu, runtime, period, back=0):
        self.pcpu, self.runtime, self.period = pcpu, runtime, period
        self.budget = 0 if back else runtime
        self.until, self.throttled = back, bool(back)
        self.group, self.task = None, None
        # Since when it sleeps, with which budget; None if it is awake.
        self.slept, self.laid_down = None if back else 0, runtime

    def wake(self, now):
        since, self.slept = self.slept, None
        if (self.group.idle < since and now - since < self.laid_down
                and since > self.until - self.period):
            return
        self.budget = self.laid_down
        room = self.until - now
        if room <= 0 or self.budget * self.period > room * self.runtime:
            self.budget, self.until = self.runtime, now + self.period

    def sleep(self, now):
        if self.slept is None:
            self.slept, self.laid_down = now, self.budget

    def dream(self, now):
        """Lose a tick of budget, unless the bandwidth allows to keep it."""
        allowed = (self.until - now - 1) * self.runtime // self.period
        if self.budget > allowed:
            self.budget -= 1

    def urgency(self, order):
        return self.until, order.index(self)


class Group:
    """Servers and their tasks, given by (wcet, deadline).

    :ivar edf: the earliest deadline first, else the first task first
    :ivar idle: the last tick at which it had no work before new work came
    """

    def __init__(self, servers, tasks, arrivals, edf=False):
        self.servers, self.tasks, self.arrivals = servers, tasks, arrivals
        self.edf, self.idle = edf, -1
        self.left, self.jobs = {}, [0] * len(tasks)
        for server in servers:
            server.group = self

    def end_jobs(self, now):
        for task in [task for task, left in self.left.items() if not left]:
            del self.left[task]
            for server in self.servers:
                if server.task == task:
                    server.task = None
            yield task, self.jobs[task], now
            self.jobs[task] += 1

    def start_jobs(self, now):
        for task, (wcet, _) in enumerate(self.tasks):
            number = self.jobs[task]
            due = self.arrivals[task]
            if (task not in self.left and number < len(due)
                    and due[number] <= now):
                if not self.left:
                    self.idle = now
                self.left[task] = wcet

    def urgent(self):
        """Return the tasks that have work, the most urgent first."""
        def urgency(task):
            if not self.edf:
                return task, task
            release = self.arrivals[task][self.jobs[task]]
            return release + self.tasks[task][1], task
        return sorted(self.left, key=urgency)


def simulate(groups, horizon, watch=None):
    """Return the finish time of each (group, task, job), as a dictionary.

    :param watch: called in each tick with it and the server of each pCPU
    """
    order = [server for group in groups for server in group.servers]
    finish, owner = {}, {}
    for now in range(horizon + 1):
        for number, group in enumerate(groups):
            for task, job, end in group.end_jobs(now):
                finish[number, task, job] = end
            group.start_jobs(now)
        for server in order:
            if server.slept is None and not server.budget:
                server.throttled = True
            if server.throttled and server.until <= now:
                server.throttled = False
                server.budget = server.runtime
                server.until += server.period
        share(groups, order, owner, now)
        for group in groups:
            hand_out(group, owner)
        if watch is not None:
            watch(now, owner)
        for server in order:
            if server in owner.values():
                server.budget -= 1
                server.group.left[server.task] -= 1
            elif server.slept is not None and server.until > now:
                server.dream(now)
    return finish


def share(groups, order, owner, now):
    """Decide which server has each pCPU."""
    def served(group):
        return sum(server in owner.values() for server in group.servers)

    for pcpu, server in sorted(owner.items()):
        if server.throttled or (server.task is None and served(
                server.group) > len(server.group.left)):
            server.task = None
            del owner[pcpu]
    again = True
    while again:
        again = False
        for server in order:
            holder = owner.get(server.pcpu)
            group = server.group
            if server.throttled or holder is server or (
                    served(group) == len(group.left)):
                continue
            if server.slept is not None:
                server.wake(now)
            if holder is None or (
                    server.urgency(order) < holder.urgency(order)):
                if holder is not None:
                    holder.task = None
                owner[server.pcpu] = server
                again = True
    for server in order:
        if (server not in owner.values() and not server.throttled
                and served(server.group) == len(server.group.left)):
            server.sleep(now)


def hand_out(group, owner):
    """Give the most urgent tasks to the servers that have pCPUs."""
    able = [s for s in group.servers if s in owner.values()]
    chosen = group.urgent()[:len(able)]
    for server in able:
        if server.task not in chosen:
            server.task = None
    for task in sorted(chosen):
        if all(server.task != task for server in able):
            next(s for s in able if s.task is None).task = task
