# SPDX-License-Identifier: Apache-2.0
"""The planner: one step after the other, as the strategy has them.

Watcher's own planners sort actions by their type, and run some of them at once. A move may
need the room that the step before it makes, and Watcher goes on after an action that has
failed. So each action is told which one it follows, and is skipped unless that was made.
"""

from __future__ import annotations

import itertools
from typing import Any

import networkx
from watcher import objects
from watcher.common import utils
from watcher.decision_engine.planner import weight

from watcher_rt import move

NAME = 'nova_rt_in_order'


class InOrder(weight.WeightPlanner):
    """Watcher's usual planner, without its order."""

    @classmethod
    def get_config_opts(cls) -> list[Any]:
        """Return no options: there are no weights."""
        return []

    def get_sorted_actions_by_weight(self, context: Any, action_plan: Any, solution: Any,
                                     ) -> list[Any]:
        """Return an action for each step, and which one is before it."""
        actions: list[Any] = []
        # Where nothing is migrated, a host's moves need nothing of other hosts'.
        apart = all(step['action_type'] == move.NAME for step in solution.actions)
        last: dict[str, str] = {}
        for step in solution.actions:
            inputs = step['input_parameters']
            key = inputs['host'] if apart else ''
            after = {'after': last[key]} if key in last else {}
            actions.append(objects.Action(
                context, uuid=utils.generate_uuid(), action_plan_id=action_plan.id,
                parents=[each.uuid for each in actions[-1:]], action_type=step['action_type'],
                input_parameters={**inputs, **after}))
            last[key] = actions[-1].uuid
        return actions

    def compute_action_graph(self, sorted_weighted_actions: list[Any]) -> networkx.DiGraph:
        """Return the actions, each after the one before it."""
        graph = networkx.DiGraph()
        graph.add_nodes_from(sorted_weighted_actions)
        graph.add_edges_from(itertools.pairwise(sorted_weighted_actions))
        return graph
