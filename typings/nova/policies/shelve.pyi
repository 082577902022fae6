# SPDX-License-Identifier: Apache-2.0
POLICY_ROOT: str
