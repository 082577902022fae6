# SPDX-License-Identifier: Apache-2.0
# The parts of Tacker 16 that tacker_rt builds on; it ships no types.
