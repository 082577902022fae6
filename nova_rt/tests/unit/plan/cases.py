# SPDX-License-Identifier: Apache-2.0
"""Options that several tests give."""

SERVICE = ['--arrival-rate', '100', '--processing-us', '2000']
TARGET = ['--deadline-us', '20000', '--percentile', '0.99']
PAPER = ['--budget-us', '30000', '--period-us', '10000', '--vcpus', '4']
