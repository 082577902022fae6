# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage paste: our filter in nova-api's api-paste.ini."""

import argparse
from collections.abc import Callable
import os
from pathlib import Path
import tempfile

from cliff import command

from nova_rt.api import paste_ini
from nova_rt.cmd import manage_base


class _Change(command.Command):

    change: Callable[[str], str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Add the file."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'file', type=Path, metavar='FILE',
            help='the file, for example /etc/nova/api-paste.ini')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Change the file in place, whole or not at all."""
        path = parsed_args.file.resolve()
        try:
            before = path.read_text()
            after = type(self).change(before)
            if after != before:
                _replace(path, after)
        except paste_ini.NoPipelineError as exc:
            raise manage_base.CommandError(
                f'{path} was left as it is. {exc}') from None
        except (OSError, UnicodeError) as exc:
            raise manage_base.CommandError(
                f'{path} could not be changed: '
                f'{getattr(exc, "strerror", None) or exc}.') from None


class Add(_Change):
    """Put the filter of nova-rt into an api-paste.ini of nova-api.

    Doing it again does nothing. Restart nova-api afterwards.
    """

    change = staticmethod(paste_ini.added)


class Remove(_Change):
    """Take the filter of nova-rt out of an api-paste.ini."""

    change = staticmethod(paste_ini.removed)


def _replace(path: Path, text: str) -> None:
    """Write a file anew, with the owner and mode that it has."""
    old = path.stat()
    with tempfile.NamedTemporaryFile(
            'w', dir=path.parent, prefix=path.name, delete=False) as file:
        file.write(text)
    try:
        os.chmod(file.name, old.st_mode & 0o7777)
        os.chown(file.name, old.st_uid, old.st_gid)
        os.replace(file.name, path)
    except OSError:
        os.unlink(file.name)
        raise
