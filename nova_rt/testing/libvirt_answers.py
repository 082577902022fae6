# SPDX-License-Identifier: Apache-2.0
"""What libvirt's client answers a daemon that asks who connects."""

from pathlib import Path

import pytest


def give(monkeypatch: pytest.MonkeyPatch, directory: Path, text: str) -> None:
    """Let libvirt's client find an ``auth.conf`` with a text."""
    auth = directory / 'auth.conf'
    auth.write_text(text)
    monkeypatch.setenv('LIBVIRT_AUTH_FILE', str(auth))
