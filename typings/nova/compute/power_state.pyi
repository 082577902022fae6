# SPDX-License-Identifier: Apache-2.0
RUNNING: int
SHUTDOWN: int
PAUSED: int
