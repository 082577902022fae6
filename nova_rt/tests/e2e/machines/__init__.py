# SPDX-License-Identifier: Apache-2.0
"""Virtual machines of a real libvirt and QEMU, without the rest of OpenStack."""
