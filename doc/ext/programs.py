# SPDX-License-Identifier: Apache-2.0
"""The directives ``help-of`` and ``columns``: documentation from the code."""

import argparse
import importlib
import os

from docutils import nodes
from docutils.parsers.rst import Directive

from nova_rt.db import history

UNITS = {'rt_share': ', in CPUs', 'rt_share_used': ', in CPUs',
         'rt_runtime_us': ', in µs', 'rt_period_us': ', in µs'}


def helps(parser: argparse.ArgumentParser) -> list[str]:
    """Return the help of a program and of its commands."""
    texts = [parser.format_help()]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                texts += helps(command)
    return texts


class Program(Directive):
    """Writes the help of a program; ``module:function`` returns its parser."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a literal block for each command."""
        # argparse wraps lines at the width of the terminal.
        os.environ['COLUMNS'] = '80'
        module, _, function = self.arguments[0].partition(':')
        parser = getattr(importlib.import_module(module), function)()
        written: list[nodes.Node] = []
        for text in helps(parser):
            block = nodes.literal_block(text, text)
            block['language'] = 'text'
            written.append(block)
        return written


class Columns(Directive):
    """Lists our columns, from the migrations."""

    def run(self) -> list[nodes.Node]:
        """Return a bullet list."""
        listed = nodes.bullet_list()
        for column in history.columns():
            text = nodes.paragraph()
            text += nodes.literal('', f'{column.table}.{column.name}')
            text += nodes.Text(
                f'{UNITS.get(column.name, "")}: {column.kind.type}, computed from ')
            text += nodes.literal('', column.document)
            text += nodes.Text(', ')
            text += nodes.literal('', ' → '.join(column.path))
            listed += nodes.list_item('', text)
        return [listed]


def setup(app) -> dict[str, bool]:
    """Register both directives."""
    app.add_directive('help-of', Program)
    app.add_directive('columns', Columns)
    return {'parallel_read_safe': True}
