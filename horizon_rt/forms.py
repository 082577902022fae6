# SPDX-License-Identifier: Apache-2.0
"""The form for a flavor's reservation."""

from __future__ import annotations

from typing import Any

from django import forms as django_forms
from django.http import HttpRequest
from horizon import forms
from horizon import messages

from horizon_rt import client
from horizon_rt import fields
from horizon_rt import flavors
from nova_rt import criticality
from nova_rt import reservation


class Reservation(forms.SelfHandlingForm):
    """A field for each extra spec. All are text, so that nova-rt itself says what is wrong."""

    runtime_us = django_forms.CharField(
        label='Runtime (µs)', required=False,
        help_text='How long each vCPU may run every period, guaranteed and at most. '
                  'Without runtime and period, the flavor reserves nothing.')
    period_us = django_forms.CharField(label='Period (µs)', required=False)
    min_runtime_us = django_forms.CharField(
        label='Least runtime (µs)', required=False,
        help_text='What a server can live with while a more critical one needs the rest.')
    criticality = django_forms.ChoiceField(
        label='Criticality', required=False,
        choices=[('', 'not said'), *((name, name) for name in criticality.Criticality.__members__)],
        help_text='How bad it is if a server misses its deadlines; C is the highest.')
    policy = django_forms.ChoiceField(
        label="Policy of a container's init", required=False,
        choices=[('', 'its own'), *((name, name) for name in reservation.POLICIES)])
    priority = django_forms.CharField(label='Priority of init', required=False)
    # What the flavor had when the form was opened.
    shown = django_forms.CharField(required=False, widget=django_forms.HiddenInput)

    def __init__(self, request: HttpRequest, *args: Any, flavor: flavors.Flavor,
                 **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self._flavor = flavor

    def clean(self) -> dict[str, str]:
        """Say at a field what is wrong with it, in nova-rt's sentence."""
        entered: dict[str, str] = super().clean()
        shown = entered.pop('shown', '')
        if self.errors:
            return entered
        if shown != fields.fingerprint(self._flavor.extra_specs):
            self.add_error(None, 'Somebody else has changed the flavor since this form was '
                                 'opened: open it again, and look at what there is now.')
        elif wrong := fields.trouble(entered, self._flavor.vcpus):
            self.add_error(*wrong)
        return entered

    def handle(self, request: HttpRequest, entered: dict[str, str]) -> bool:
        """Change the flavor; False, with a sentence above the fields, if Nova does not."""
        flavor = self._flavor
        try:
            flavors.change(request, flavor, fields.change(
                flavor.extra_specs, entered, flavor.vcpus))
        except client.UnansweredError as exc:
            self.api_error(str(exc))
            return False
        messages.success(request, f'The flavor {flavor.name} is saved. Servers that exist keep '
                                  'what they have until they are resized.')
        return True
