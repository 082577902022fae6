# SPDX-License-Identifier: Apache-2.0
# The parts of heat-translator that tacker_rt builds on; it ships no types.
