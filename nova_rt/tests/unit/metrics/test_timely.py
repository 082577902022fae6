# SPDX-License-Identifier: Apache-2.0
import threading

from prometheus_client import core
import pytest

from nova_rt.metrics import collector
from nova_rt.metrics import timely


class Slow:
    """Stands in for a collector whose libvirtd hangs now and then."""

    def __init__(self):
        self.answers = threading.Event()
        self.asked = 0

    def collect(self):
        self.asked += 1
        self.answers.wait()
        yield core.GaugeMetricFamily('a', 'It answers.', self.asked)


@pytest.fixture
def slow():
    slow = Slow()
    yield slow
    slow.answers.set()


def told(metrics):
    return {sample.name: sample.value for metric in metrics for sample in metric.samples}


def test_what_is_collected_in_time_is_told_anew_each_time(slow):
    slow.answers.set()
    metrics = timely.Timely(slow, [collector.up(False)])
    assert [told(metrics.collect()) for _ in range(2)] == [{'a': 1}, {'a': 2}]


def test_what_hangs_keeps_one_thread_and_no_scrape(slow):
    metrics = timely.Timely(slow, [collector.up(False)], patience_s=0.01)
    assert [told(metrics.collect()) for _ in range(3)] == [{'nova_rt_up': 0}] * 3
    assert slow.asked == 1


def test_it_is_told_again_once_it_answers(slow):
    metrics = timely.Timely(slow, [collector.up(False)], patience_s=0.01)
    metrics.collect()
    slow.answers.set()
    metrics._thread.join()
    metrics._patience_s = 10
    assert told(metrics.collect()) == {'a': 2}


def test_a_fault_of_the_collector_is_logged_and_told_as_no_answer(caplog):
    class Faulty:
        def collect(self):
            raise ValueError
    assert told(timely.Timely(Faulty(), [collector.up(False)]).collect()) == {'nova_rt_up': 0}
    assert 'ValueError' in caplog.text
