# SPDX-License-Identifier: Apache-2.0
class CPUAllocationPolicy:
    DEDICATED: str

class NotificationPhase:
    START: str
    END: str

class NotificationAction:
    RESIZE_REVERT: str

class MigrationType:
    RESIZE: str
    MIGRATION: str
    EVACUATION: str
