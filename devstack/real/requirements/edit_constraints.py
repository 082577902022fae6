# SPDX-License-Identifier: Apache-2.0
"""``edit-constraints FILE -- NAME``: removes a package, to be installed from its source."""

from pathlib import Path
import re
import sys


def main() -> None:
    """Rewrite the file without the package."""
    path, name = Path(sys.argv[1]), sys.argv[-1]
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(''.join(line for line in lines if _name(line) != _name(name)))


def _name(requirement: str) -> str:
    """Return the name in the spelling in which all are compared."""
    return re.sub('[-_.]+', '-', requirement.partition('==')[0].strip().lower())
