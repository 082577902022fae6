# SPDX-License-Identifier: Apache-2.0
from nova.compute import claims as nova_claims
from nova.scheduler.client import report
import pytest

from nova_rt.compute import claims
from nova_rt.compute import nova_hooks


@pytest.mark.parametrize(('name', 'parameters'),
                         sorted(nova_hooks.EXPECTED.items()))
def test_this_nova_is_as_expected(name, parameters):
    nova_hooks.check_signature(name, parameters)


def test_a_changed_parameter_is_told_with_both_lists():
    with pytest.raises(nova_hooks.UnknownNova,
                       match=r'abort\(self\), but nova-rt expects \(self x\)'):
        nova_hooks.check_signature(
            'nova.compute.claims:MoveClaim.abort', 'self x')


def test_a_name_that_is_gone_is_told():
    with pytest.raises(nova_hooks.UnknownNova, match=r'has no .*gone'):
        nova_hooks.check_signature('nova.compute.claims:Claim.gone', 'self')


def test_an_unknown_release_is_refused():
    with pytest.raises(nova_hooks.UnknownNova, match=r'this is Nova 35\.0'):
        nova_hooks.check_release('35.0.1')


def test_a_scheduler_without_a_list_of_request_filters_is_told(monkeypatch):
    monkeypatch.delattr('nova.scheduler.request_filter.ALL_REQUEST_FILTERS')
    with pytest.raises(nova_hooks.UnknownNova, match='has no list'):
        nova_hooks.install_request_filter(print)


def test_a_request_filter_is_put_in_place_once(monkeypatch):
    filters = []
    monkeypatch.setattr(
        'nova.scheduler.request_filter.ALL_REQUEST_FILTERS', filters)
    nova_hooks.install_request_filter(print)
    nova_hooks.install_request_filter(print)
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
    nova_hooks.install_candidates_search(search)
    nova_hooks.install_candidates_search(search)
    found = report.SchedulerReportClient.get_allocation_candidates(
        None, 'context', 'resources')
    assert found == (['candidates'], 'resources', '1.39')
    assert asked == ['context']


def test_nova_finds_its_own_claims_where_it_looks_for_them():
    assert nova_claims.MoveClaim is not claims.MoveClaim
    assert issubclass(claims.MoveClaim, nova_claims.MoveClaim)
    assert issubclass(claims.Claim, nova_claims.Claim)
