# SPDX-License-Identifier: Apache-2.0
"""The directive ``operations``: a table of what the tests of operations prove."""

import ast
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / 'nova_rt/tests/functional/test_operations.py'
HEAD = ('Operation', 'Claim', 'pCPUs', "Kernel's budget", 'Proved by')


def rows(source: str) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the tests' decorators, with the names of the tests."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and getattr(
                    call.func, 'attr', '') == 'proves':
                yield (*map(ast.literal_eval, call.args), node.name)


class Operations(Directive):
    """Writes the table; an empty one fails the build."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.state.document.settings.env.note_dependency(str(TESTS))
        table_rows = list(rows(TESTS.read_text()))
        if not table_rows:
            raise self.error(f'{TESTS.name} proves nothing')
        table = nodes.table()
        group = nodes.tgroup(cols=len(HEAD))
        table += group
        group += [nodes.colspec(colwidth=width) for width in (28, 12, 12, 12, 36)]
        head, body = nodes.thead(), nodes.tbody()
        group += [head, body]
        head += _row(HEAD)
        for row in table_rows:
            body += _row(row)
        return [table]


def _row(cells: tuple[str, ...]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        text = (nodes.literal('', cell) if cell.startswith('test_')
                else nodes.Text(cell))
        entry += nodes.paragraph('', '', text)
        row += entry
    return row


def setup(app) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('operations', Operations)
    return {'parallel_read_safe': True}
