# SPDX-License-Identifier: Apache-2.0
MIGRATING: str
POWERING_OFF: str
POWERING_ON: str
REBUILDING: str
RESIZE_FINISH: str
RESIZE_PREP: str
RESIZE_REVERTING: str
RESUMING: str
SPAWNING: str
UNSHELVING: str
rebuild_states: list[str]
resizing_states: list[str]
