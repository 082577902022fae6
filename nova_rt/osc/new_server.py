# SPDX-License-Identifier: Apache-2.0
"""A server that there is not yet, as a command is told of it: a flavor, and hints."""

from __future__ import annotations

import argparse

from osc_lib.cli import parseractions

from nova_rt.sdk.answers import Json


def add_hints(parser: argparse.ArgumentParser) -> None:
    """Add the hints."""
    parser.add_argument(
        '--hint', metavar='KEY=VALUE', action=parseractions.KeyValueAction,
        help='a scheduler hint, such as cpu.rt_runtime_us=120000; may be repeated')


def asked_for(parsed_args: argparse.Namespace) -> Json:
    """Return flavor and hints as the API takes them."""
    return {'flavor': parsed_args.flavor, 'hints': parsed_args.hint or {}}
