# SPDX-License-Identifier: Apache-2.0
EVENT_LIFECYCLE_PAUSED: int
EVENT_LIFECYCLE_STARTED: int
EVENT_LIFECYCLE_STOPPED: int

class LifecycleEvent:
    uuid: str
    transition: int
