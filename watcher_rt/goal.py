# SPDX-License-Identifier: Apache-2.0
"""The goal: room for CPU reservations, and how well a plan reaches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watcher.decision_engine.goal import base
from watcher.decision_engine.goal.efficacy import base as efficacy
from watcher.decision_engine.goal.efficacy import indicators
from watcher.decision_engine.solution.efficacy import Indicator

NAME = 'nova_rt_room'


class Count(indicators.IndicatorSpecification):
    """How many steps of a kind a plan has."""

    schema = {'type': 'integer', 'minimum': 0}  # noqa: RUF012


class Left(indicators.IndicatorSpecification):
    """What a pCPU has left, in percent of a CPU; negative if more is reserved than its cap."""

    schema = {'type': 'number'}  # noqa: RUF012


class Efficacy(efficacy.EfficacySpecification):
    """How many steps a plan has, and the room that it makes.

    For a flavor of m vCPUs, the room is the most that each of m could have on the host that
    gets it; without a flavor, what the fullest pCPU has left of the hosts that are balanced.
    """

    def get_indicators_specifications(self) -> list[indicators.IndicatorSpecification]:
        """Return what each plan has a number for."""
        return [
            Count('moves', 'How many vCPUs go to another pCPU of their host.'),
            Count('migrations', 'How many servers go to another host.'),
            Left('room_before', 'The most that each vCPU of the flavor could have; for a '
                                'balance, what the fullest pCPU has left.', '%'),
            Left('room_after', 'The same after the plan.', '%')]

    def get_global_efficacy_indicator(self, indicators_map: Mapping[str, Any]) -> list[Indicator]:
        """Return how much more room there is."""
        if not indicators_map:
            return []
        return [Indicator(
            'room_gained', 'By how much the plan makes the room larger.', '%',
            round(indicators_map['room_after'] - indicators_map['room_before'], 2))]


class Room(base.Goal):
    """Room for a reservation that no host has, or hosts that are in balance."""

    @classmethod
    def get_name(cls) -> str:
        """Return the name of the entry point."""
        return NAME

    @classmethod
    def get_display_name(cls) -> str:
        """Return the name for people."""
        return cls.get_translatable_display_name()

    @classmethod
    def get_translatable_display_name(cls) -> str:
        """Return the name for people."""
        return 'Room for CPU reservations'

    @classmethod
    def get_efficacy_specification(cls) -> Efficacy:
        """Return how plans are measured."""
        return Efficacy()
