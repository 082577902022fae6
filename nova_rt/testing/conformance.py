# SPDX-License-Identifier: Apache-2.0
"""What every kernel must do whose budgets nova-rt writes, and every stand-in.

The same tests run on the stand-ins (unit) and on a real kernel (e2e), so that
what is tested on a stand-in is true. To run them on another kernel or stand-in,
write a module with a fixture ``playground``, which makes a group and removes it,
and a subclass::

    @pytest.fixture
    def playground():
        kernel = fake_kernel.FakeKernel()
        kernel.make('playground')
        place = conformance.FakePlayground(
            detect.detect(kernel, kernel.count), 'playground', 100_000)
        place.write('playground', 0)
        return place


    class TestMyKernel(conformance.Conformance):
        pass
"""

import abc
from collections.abc import Callable
import errno
import time

import pytest

from nova_rt import bandwidth
from nova_rt.testing import fake_kernel
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup.dialect import Dialect


class Playground(abc.ABC):
    """A group to play in, on a kernel or on a stand-in.

    :param dialect: what the kernel speaks
    :param top: the group; a test gives it no more than ``most_us``
    :param most_us: runtime every second that the kernel has left for it
    """

    def __init__(self, dialect: Dialect, top: str, most_us: int) -> None:
        self.dialect = dialect
        self.tree = dialect.tree
        self.top = top
        self.most_us = most_us

    @abc.abstractmethod
    def run_realtime(self, group: str) -> None:
        """Let a task of a group ask for SCHED_FIFO.

        :raises PermissionError: if the kernel does not grant it
        """

    @abc.abstractmethod
    def end_realtime(self, group: str) -> None:
        """End the task."""

    def make(self, *names: str) -> list[str]:
        """Make groups below the top; return their paths."""
        groups = [f'{self.top}/{name}' for name in names]
        for group in groups:
            self.tree.make(group)
        return groups

    def write(self, group: str, runtime_us: int, period_us: int = 1_000_000) -> None:
        """Give a group the same runtime on all pCPUs."""
        self.dialect.write(group, self.of(runtime_us, period_us))

    def of(self, runtime_us: int, period_us: int = 1_000_000) -> budget.Budget:
        """Return a budget with the same runtime on all pCPUs."""
        return budget.Budget(period_us, (runtime_us,) * self.dialect.count)

    def refuses(self, number: int, group: str, *times: int) -> None:
        """Assert that the kernel refuses a budget, and changes nothing.

        :param number: the errno expected
        :param times: runtime and, unless it is a second, period in µs
        """
        before = self.dialect.read(group)
        with pytest.raises(errors.KernelRefusalError) as refusal:
            self.write(group, *times)
        assert errno.errorcode[refusal.value.errno] == errno.errorcode[number]
        assert 'see the kernel log' not in str(refusal.value)
        assert self.dialect.read(group).bandwidths == before.bandwidths


class FakePlayground(Playground):
    """A group of a fake kernel."""

    tree: fake_kernel.FakeKernel

    def run_realtime(self, group: str) -> None:
        """See base class."""
        self.tree.run_realtime(group)

    def end_realtime(self, group: str) -> None:
        """See base class."""
        self.tree.set_busy(group, False)


class Conformance:
    """The tests; a subclass is in a module that has the fixture."""

    def test_a_new_group_has_no_budget(self, playground: Playground) -> None:
        child, = playground.make('child')
        assert set(playground.dialect.read(child).runtimes_us) == {0}

    def test_a_child_of_a_group_at_0_gets_nothing(self, playground: Playground) -> None:
        playground.write(playground.top, 0)
        child, = playground.make('child')
        playground.refuses(errno.EINVAL, child, 1000)

    def test_children_may_have_what_their_parent_has_and_no_more(
            self, playground: Playground) -> None:
        first, second, third = playground.make('first', 'second', 'third')
        playground.write(playground.top, 20_000)
        playground.write(first, 12_000)
        playground.write(second, 8_000)
        playground.refuses(errno.EINVAL, third, 1_000)
        playground.refuses(errno.EINVAL, second, 9_000)

    def test_a_parent_keeps_what_its_children_have(self, playground: Playground) -> None:
        child, = playground.make('child')
        playground.write(playground.top, 20_000)
        playground.write(child, 12_000)
        playground.refuses(errno.EINVAL, playground.top, 11_000)
        playground.refuses(errno.EINVAL, playground.top, 0)
        playground.write(playground.top, 12_000)

    def test_bandwidths_are_added_each_rounded_down(self, playground: Playground) -> None:
        first, second = playground.make('first', 'second')
        times = 3_333, 1_000_000
        playground.write(playground.top, 10_000)
        playground.write(first, *times)
        left = (bandwidth.to_bandwidth(10_000, 1_000_000)
                - bandwidth.to_bandwidth(*times))
        longest = bandwidth.longest_runtime(left, 1_000_000)
        playground.refuses(errno.EINVAL, second, longest + 1)
        playground.write(second, longest)

    def test_the_period_counts_and_not_the_runtime_alone(self, playground: Playground) -> None:
        child, = playground.make('child')
        playground.write(playground.top, 20_000)
        playground.write(child, 2_000, 100_000)
        playground.refuses(errno.EINVAL, child, 2_000, 50_000)
        playground.write(child, 2_000, 200_000)
        playground.write(child, 1_000, 50_000)

    def test_no_runtime_is_longer_than_its_period(self, playground: Playground) -> None:
        child, = playground.make('child')
        playground.write(playground.top, 20_000)
        playground.refuses(errno.EINVAL, child, 100_001, 100_000)

    def test_nothing_exceeds_the_global_limit(self, playground: Playground) -> None:
        playground.refuses(errno.EINVAL, playground.top, 990_000)

    def test_a_period_of_0_and_what_is_no_number_are_refused(self, playground: Playground) -> None:
        playground.refuses(errno.EINVAL, playground.top, 0, 0)
        with pytest.raises(errors.KernelRefusalError) as refusal:
            playground.tree.write(
                playground.top, playground.dialect.files[0], 'many')
        assert refusal.value.errno == errno.EINVAL

    def test_real_time_tasks_need_a_runtime_and_keep_it(self, playground: Playground) -> None:
        child, = playground.make('child')
        with pytest.raises(PermissionError):
            playground.run_realtime(child)
        playground.write(playground.top, 20_000)
        playground.write(child, 10_000)
        playground.run_realtime(child)
        try:
            playground.refuses(errno.EBUSY, child, 0)
            playground.write(child, 1_000)
            playground.write(child, 10_000)
        finally:
            playground.end_realtime(child)
        playground.write(child, 0)

    def test_a_group_that_has_gone_is_said_and_its_budget_is_free(
            self, playground: Playground) -> None:
        first, second = playground.make('first', 'second')
        playground.write(playground.top, 20_000)
        playground.write(first, 20_000)
        playground.tree.remove(first)
        with pytest.raises(errors.MissingControlFileError, match='has gone'):
            playground.write(first, 1_000)
        eventually(lambda: playground.write(second, 20_000))

    def test_three_levels_are_raised_from_the_top_and_lowered_from_below(
            self, playground: Playground) -> None:
        playground.make('top', 'top/middle')
        leaf, = playground.make('top/middle/leaf')
        groups = hierarchy.Hierarchy(playground.dialect)
        for runtime_us, period_us in (
                (2_000, 100_000), (500, 20_000), (9_000, 300_000),
                (1_000, 1_000_000), (20_000, 1_000_000), (200, 10_000)):
            wanted = playground.of(runtime_us, period_us)
            groups.apply(leaf, wanted)
            assert groups.holds(leaf, wanted)
            for above in filter(playground.dialect.bounded,
                                hierarchy.ancestors(leaf)):
                held = playground.dialect.read(above).bandwidths
                assert all(has >= needs for has, needs in zip(
                    held, wanted.bandwidths, strict=True))
        groups.apply(leaf, playground.of(0, 10_000))
        for above in hierarchy.ancestors(leaf):
            assert set(playground.dialect.read(above).runtimes_us) == {0}

    def test_a_refused_container_leaves_the_groups_above_as_they_were(
            self, playground: Playground) -> None:
        first, second = playground.make('first', 'second')
        groups = hierarchy.Hierarchy(playground.dialect)
        groups.apply(first, playground.of(10_000))
        before = playground.dialect.read(playground.top)
        with pytest.raises(errors.KernelRefusalError):
            groups.apply(second, playground.of(980_000))
        assert playground.dialect.read(playground.top) == before
        assert set(playground.dialect.read(second).runtimes_us) == {0}


def eventually(action: Callable[[], None], tries: int = 100) -> None:
    """Do what the kernel refuses until it has let go of a removed group."""
    while True:
        try:
            return action()
        except errors.KernelRefusalError:
            tries -= 1
            if not tries:
                raise
            time.sleep(0.05)
