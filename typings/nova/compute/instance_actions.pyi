# SPDX-License-Identifier: Apache-2.0
LIVE_MIGRATION: str
