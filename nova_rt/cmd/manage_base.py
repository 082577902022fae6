# SPDX-License-Identifier: Apache-2.0
"""What the commands of nova-rt-manage have in common."""

import argparse
import contextlib
import functools
import os
import uuid

from nova import monkey_patch

# Before anything else of Nova is imported. By this variable, as without it Nova
# would read nova.conf here, where a wrong one is a traceback.
os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
monkey_patch.patch(backend='threading')

from collections.abc import Iterator  # noqa: E402
from collections.abc import Sequence  # noqa: E402

from cliff import command  # noqa: E402

from nova_rt import errors  # noqa: E402
from nova_rt import wording  # noqa: E402

# What a command returns for cliff to print: the columns, and a row each.
Rows = tuple[tuple[str, ...], list[tuple[object, ...]]]


class CommandError(errors.NovaRTError):
    """A command cannot do its work; the message is one sentence for people."""


class Explained(command.Command):
    """A command that reports each failure in a sentence.

    It comes before cliff's class among the bases.
    """

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command.

        :raises CommandError: in place of what :mod:`nova_rt.cmd.sentences` knows
        """
        with explained(getattr(parsed_args, 'server', '')):
            return super().run(parsed_args)


@contextlib.contextmanager
def explained(server: str = '') -> Iterator[None]:
    """Replace what :mod:`nova_rt.cmd.sentences` knows by its sentence.

    :param server: the id of the server that a command is about
    :raises CommandError: in place of what was raised
    """
    try:
        yield
    except Exception as exc:
        # Late: "--help" should not wait for Nova.
        from nova_rt.cmd import sentences

        text = sentences.sentence(exc, server)
        if text is None:
            raise
        raise CommandError(text) from None


def read_nova_conf(files: Sequence[str] = (),
                   directories: Sequence[str] = ()) -> None:
    """Configure Nova's library as nova-manage does, and our group ``[rt]``.

    :param files: configuration files; nova.conf where it is by default if empty
    :raises cfg.Error: if one cannot be read
    """
    # Late: "--help" should not wait for Nova.
    from nova import config
    import nova.conf

    import nova_rt.conf

    conf = nova.conf.CONF
    nova_rt.conf.register_opts(conf)
    argv = ['nova-rt-manage']
    argv += [f'--config-file={name}' for name in files]
    argv += [f'--config-dir={name}' for name in directories]
    config.parse_args(argv, configure_db=False)
    use_databases()


@functools.cache
def use_databases() -> None:
    """Let Nova's library use the databases that nova.conf names; once is enough."""
    from nova import objects
    import nova.conf
    from nova.db.api import api as api_db
    from nova.db.main import api as main_db

    conf = nova.conf.CONF
    for group in ('api_database', 'database'):
        # A service waits for a database that is away; a person would wonder.
        conf.set_override('max_retries', 0, group=group)
    main_db.configure(conf)
    api_db.configure(conf)
    objects.register_all()


def uuid_of_server(text: str) -> str:
    """Return the id of a server that is given on the command line."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{wording.shown(text)} is not the id of a server') from None
