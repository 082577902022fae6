# SPDX-License-Identifier: Apache-2.0
"""nova-rt-conductor: new servers that find no room wait for it, instead of failing."""
