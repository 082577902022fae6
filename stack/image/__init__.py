# SPDX-License-Identifier: Apache-2.0
"""The container images: busybox, an init, and a program that burns CPU."""
