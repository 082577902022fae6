# SPDX-License-Identifier: Apache-2.0
"""What is new in a record."""

from nova_rt.monitor import activity
from nova_rt.monitor import record
from nova_rt.tests.unit.monitor import examples


def told(**fields):
    return record.decode(examples.missed(**fields))


def after(before, now, heard_ns=100, same_clock=True):
    return activity.Activity('server', before).news(now, heard_ns, heard_ns, same_clock)


def test_misses_and_overruns_are_told_once():
    known = activity.Activity('server', told(misses=2))
    news = known.news(told(misses=5, overruns=1, reported_ns=90), 100, 100, same_clock=True)
    assert (news.server, news.misses, news.overruns, news.delay_ns) == ('server', 3, 1, 10)
    assert known.news(told(misses=5, overruns=1, reported_ns=90), 200, 200, same_clock=True) is None


def test_counts_that_begin_anew_are_all_new():
    assert after(told(misses=5), told(misses=2)).misses == 2


def test_jobs_in_time_are_no_news():
    usual = record.decode(examples.pack(jobs=7, began_ns=90))
    assert after(record.decode(examples.pack()), usual) is None


def test_a_job_past_its_deadline_is_told_once():
    late = record.decode(examples.pack(began_ns=1))
    known = activity.Activity('server', late)
    assert known.news(late, 8_000_001, 8_000_001, same_clock=True) is None
    news = known.news(late, 8_000_004, 8_000_004, same_clock=True)
    assert (news.misses, news.overdue_ns) == (0, 3)
    assert known.news(late, 9_000_000, 9_000_000, same_clock=True) is None
    later = record.decode(examples.pack(began_ns=2))
    assert known.news(later, 9_000_000, 9_000_000, same_clock=True).overdue_ns > 0


def test_of_a_server_with_another_clock_only_its_own_times_are_compared():
    before = told()
    assert after(before, told(misses=2, reported_ns=50), same_clock=False).delay_ns is None
    present = record.decode(examples.pack(began_ns=1, reported_ns=9_000_000))
    assert after(before, present, 0, same_clock=False).overdue_ns == 999_999
    present = record.decode(examples.pack(began_ns=1, reported_ns=5))
    assert after(record.decode(examples.pack()), present, 2 ** 60, same_clock=False) is None


def test_a_report_from_the_future_has_no_delay():
    assert after(told(), told(misses=2, reported_ns=101)).delay_ns is None


def test_a_job_that_ends_while_it_is_read_is_not_past_its_deadline():
    known = activity.Activity('server', record.decode(examples.pack()))
    present = record.decode(examples.pack(began_ns=1))
    assert known.news(present, 8_000_000, 8_000_100, same_clock=True) is None


def test_a_job_that_hangs_and_ends_is_late_once():
    known = activity.Activity('server', record.decode(examples.pack(jobs=0)))
    hangs = record.decode(examples.pack(jobs=0, began_ns=1))
    assert known.news(hangs, 9_000_000, 9_000_000, same_clock=True).late == 1
    ended = told(misses=1, began_ns=9_000_001)
    news = known.news(ended, 9_000_002, 9_000_002, same_clock=True)
    assert (news.misses, news.late) == (1, 0)
    later = known.news(told(misses=3), 9_000_003, 9_000_003, same_clock=True)
    assert (later.misses, later.late) == (2, 2)


def test_of_several_misses_only_the_one_that_was_told_is_not_late_again():
    known = activity.Activity('server', record.decode(examples.pack(jobs=0)))
    known.news(record.decode(examples.pack(jobs=0, began_ns=1)), 9_000_000, 9_000_000,
               same_clock=True)
    both = known.news(told(misses=2, began_ns=5), 9_000_000, 9_000_000, same_clock=True)
    assert both.misses == 2
    # The second, and the third, which hangs.
    assert both.late == 2


def test_a_job_that_hung_when_its_application_was_killed_hides_no_later_miss():
    known = activity.Activity('server', record.decode(examples.pack(jobs=0)))
    known.news(record.decode(examples.pack(jobs=0, began_ns=1)), 9_000_000, 9_000_000,
               same_clock=True)
    restarted = record.decode(examples.pack(jobs=0))
    assert known.news(restarted, 9_000_001, 9_000_001, same_clock=True) is None
    assert known.news(told(misses=1), 9_000_002, 9_000_002, same_clock=True).late == 1
