# SPDX-License-Identifier: Apache-2.0
"""Whether KVM runs guests, by a fake QEMU that behaves as ones that were met."""

import pathlib

import pytest

from stack import hypervisor
from stack.image import build

WORKS = f'echo {build.WORD.decode()}; exec sleep 60'
# Inside a virtual machine: a plain CPU works, the host's does not (MSR 0x10a).
REFUSES_FEATURES = f'''case "$*" in
*"-cpu host"*) echo "failed to set MSR 0x10a" >&2; exit 134 ;;
*) {WORKS} ;;
esac'''
HANGS = 'exec sleep 60'

pytestmark = pytest.mark.skipif(
    not pathlib.Path('/dev/kvm').exists(), reason='there is no /dev/kvm here')


@pytest.mark.parametrize(('behaviour', 'expected'), [
    (WORKS, 'kvm'),
    (REFUSES_FEATURES, 'qemu'),
    (HANGS, 'qemu'),
])
def test_kvm_is_chosen_where_a_guest_with_the_hosts_cpu_runs(
        behaviour, expected, monkeypatch, tmp_path):
    command = tmp_path / 'qemu-system-x86_64'
    command.write_text(f'#!/bin/sh\n{behaviour}\n')
    command.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=':')
    monkeypatch.setattr(hypervisor, 'PATIENCE', 0.5)
    assert hypervisor.virt_type(tmp_path / 'disk') == expected
