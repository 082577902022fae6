# SPDX-License-Identifier: Apache-2.0
# The parts of Nova 33 and 34 that nova-rt uses, with their types: Nova ships none.
