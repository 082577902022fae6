# SPDX-License-Identifier: Apache-2.0
"""The pages of the panel: all hosts, one host, and the form for a flavor."""

from __future__ import annotations

from collections.abc import Mapping
import operator
from typing import Any

from django.http import HttpRequest
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.urls import reverse_lazy
from horizon import forms
from horizon import views
from openstack_dashboard import api

from horizon_rt import client
from horizon_rt import drawing
from horizon_rt import fields
from horizon_rt import flavors
from horizon_rt.forms import Reservation
from nova_rt import ledger
from nova_rt.sdk import proxy
from nova_rt.sdk import resources

INDEX = reverse_lazy('horizon:admin:real_time:index')


class Index(views.HorizonTemplateView):
    """All hosts, projects, flavors, and the servers that wait for room."""

    template_name = 'horizon_rt/index.html'
    page_title = 'Real-time'

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Ask for each part by itself, so that one that is refused leaves the others.

        If nova-rt does not answer at all, nothing else is asked: nova-api, which serves it,
        may not either, and Horizon's own client would wait for that without end.
        """
        request = self.request
        context = {**super().get_context_data(**kwargs), 'hosts': client.ask(request, _hosts)}
        if context['hosts'].is_away:
            return {**context, **dict.fromkeys(
                ('waiting', 'projects', 'flavors'), context['hosts'])}
        names = _project_names(request)
        return {
            **context,
            'waiting': client.ask(request, lambda rt: list(rt.waiting())),
            'projects': client.ask(request, lambda rt: _projects(rt, names)),
            'flavors': _flavors(request)}


class Host(views.HorizonTemplateView):
    """A host: a bar for each pCPU, and who holds what."""

    template_name = 'horizon_rt/host.html'
    page_title = 'Real-time host {{ name }}'

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Ask for the host."""
        name = self.kwargs['host']
        return {**super().get_context_data(**kwargs), 'name': name,
                'shown': client.ask(self.request, lambda rt: _host(rt, name, self.request))}


class Flavor(forms.ModalFormView):
    """The form for a flavor's reservation, on a page of its own."""

    form_class = Reservation
    template_name = 'horizon_rt/flavor.html'
    page_title = 'Reservation of the flavor {{ flavor.name }}'
    form_id = 'real_time_flavor'
    submit_label = 'Save'
    success_url = INDEX

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Fetch the flavor first: without it there is no form to show."""
        try:
            self._flavor = flavors.one(request, kwargs['flavor'])
        except client.UnansweredError as exc:
            return render(request, 'horizon_rt/trouble.html', {
                'page_title': 'Reservation of a flavor', 'trouble': str(exc)})
        return super().dispatch(request, *args, **kwargs)

    def get_initial(self) -> dict[str, str]:
        """Return what the flavor has now."""
        return {**self._flavor.fields,
                'shown': fields.fingerprint(self._flavor.extra_specs)}

    def get_form_kwargs(self) -> dict[str, Any]:
        """Give the flavor to the form."""
        return {**super().get_form_kwargs(), 'flavor': self._flavor}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the flavor and where the form goes."""
        return {**super().get_context_data(**kwargs), 'flavor': self._flavor,
                'submit_url': reverse(
                    'horizon:admin:real_time:flavor', args=[self._flavor.uuid])}


def _hosts(rt: proxy.Proxy) -> list[tuple[resources.Host, int]]:
    """Return hosts by name, and how much of a bar each fills."""
    return [(host, drawing.filled(host.share_used, host.share))
            for host in sorted(rt.hosts(), key=operator.attrgetter('name'))]


def _host(rt: proxy.Proxy, name: str, request: HttpRequest) -> dict[str, Any]:
    """Return a host, its pCPUs as bars, and who holds what on it."""
    host = rt.get_host(name)
    names = _project_names(request) if host.holdings else {}
    return {'host': host, 'bars': drawing.bars(host.pcpus, host.holdings), 'holdings': [
        {**each, 'project': names.get(each['project_id'], each['project_id']),
         'ranges': ledger.ranges(each['pcpus'])} for each in host.holdings]}


def _projects(rt: proxy.Proxy,
              names: Mapping[str, str]) -> list[tuple[str, resources.Project]]:
    """Return projects by name."""
    return sorted(((names.get(each.project_id, each.project_id), each)
                   for each in rt.projects()), key=operator.itemgetter(0))


def _flavors(request: HttpRequest) -> client.Answer[list[flavors.Flavor]]:
    try:
        return client.Answer(flavors.every(request))
    except client.UnansweredError as exc:
        return client.Answer(trouble=str(exc))


def _project_names(request: HttpRequest) -> dict[str, str]:
    """Return the names of projects by their ids; what Keystone does not tell is left out."""
    try:
        with client.sentences('Keystone'):
            projects, _ = api.keystone.tenant_list(request)
            return {project.id: project.name for project in projects}
    except client.UnansweredError:
        return {}
