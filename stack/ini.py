# SPDX-License-Identifier: Apache-2.0
"""Configuration files as oslo.config reads them."""

from collections.abc import Mapping
from pathlib import Path

Sections = Mapping[str, Mapping[str, object]]


def merged(*layers: Sections) -> dict[str, dict[str, object]]:
    """Merge the layers; a later layer wins."""
    result: dict[str, dict[str, object]] = {}
    for layer in layers:
        for section, options in layer.items():
            result.setdefault(section, {}).update(options)
    return result


def write(path: Path, sections: Sections) -> None:
    """Write the sections. A list is written as one line per value."""
    lines = []
    for section, options in sections.items():
        lines.append(f'[{section}]')
        for key, value in options.items():
            values = value if isinstance(value, list) else [value]
            lines.extend(f'{key} = {_text(item)}' for item in values)
        lines.append('')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text('\n'.join(lines))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
