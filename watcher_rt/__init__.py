# SPDX-License-Identifier: Apache-2.0
"""Plug-ins of Watcher's: a goal, a strategy, a planner and two actions that make room."""
