# SPDX-License-Identifier: Apache-2.0
from nova.scheduler.client import report
import pytest

from nova_rt import signatures
from nova_rt.filters import hooks


def test_a_scheduler_without_a_list_of_request_filters_is_told(monkeypatch):
    monkeypatch.delattr('nova.scheduler.request_filter.ALL_REQUEST_FILTERS')
    with pytest.raises(signatures.UnknownNovaError, match='has no list'):
        hooks.install_request_filter(print)


def test_a_request_filter_is_put_in_place_once(monkeypatch):
    filters = []
    monkeypatch.setattr(
        'nova.scheduler.request_filter.ALL_REQUEST_FILTERS', filters)
    hooks.install_request_filter(print)
    hooks.install_request_filter(print)
    assert filters == [print]


def test_placement_is_asked_through_the_search_once(monkeypatch):
    asked = []

    def theirs(self, context, resources):
        return ['candidates'], resources, '1.39'
    monkeypatch.setattr(
        'nova.scheduler.client.report.SchedulerReportClient'
        '.get_allocation_candidates', theirs)

    def search(context, ask):
        asked.append(context)
        return ask()
    hooks.install_candidates_search(search)
    hooks.install_candidates_search(search)
    found = report.SchedulerReportClient.get_allocation_candidates(
        None, 'context', 'resources')
    assert found == (['candidates'], 'resources', '1.39')
    assert asked == ['context']
