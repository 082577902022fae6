# SPDX-License-Identifier: Apache-2.0
"""What the commands of nova-rt-manage have in common."""

import argparse
import os
import uuid

from nova import monkey_patch

# Before anything else of Nova is imported. By this variable, as without it Nova
# would read nova.conf here, where a wrong one is a traceback.
os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
monkey_patch.patch(backend='threading')

from collections.abc import Sequence  # noqa: E402

from nova_rt import errors  # noqa: E402


class CommandError(errors.NovaRTError):
    """A command cannot do its work; the message is one sentence for people."""


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


def use_databases() -> None:
    """Let Nova's library use the databases that nova.conf names."""
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
            f'{text[:40]!r} is not the id of a server') from None


def unknown(server: str) -> str:
    """Return what to say of a server that Nova does not know."""
    return (f'Nova knows no server {server}: give the id that "openstack '
            'server list --all-projects" shows.')
