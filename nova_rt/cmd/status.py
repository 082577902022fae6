# SPDX-License-Identifier: Apache-2.0
"""nova-rt-status: whether a deployment is ready for this nova-rt.

``nova-rt-status upgrade check`` is to be run where nova-api is, after the new
packages are installed and before services are restarted. Its exit status is
that of every ``STATUS upgrade check`` of OpenStack: 0 success, 1 warning, 2
failure, 255 if it could not be run.
"""

from collections.abc import Sequence
from pathlib import Path
import sys

# Before anything else of Nova: it says how Nova runs.
from nova_rt.cmd import manage_base  # isort: skip

from nova import config
import nova.conf
from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from nova_rt.api import paste_ini
import nova_rt.conf
from nova_rt.db import cells
from nova_rt.db import history
from nova_rt.db import problems

FILTER = 'RTShareFilter'
WEIGHER = 'nova_rt.filters.rt_share_weigher.RTShareWeigher'


def _result(code: upgradecheck.Code, details: str | None = None,
            ) -> upgradecheck.Result:
    return upgradecheck.Result(code, details)


class Checks(upgradecheck.UpgradeCommands):
    """What is looked at; each method is one check."""

    def release(self) -> upgradecheck.Result:
        """Whether Nova is one that nova-rt-compute and nova-rt-conductor start with."""
        # Late: it imports what only a compute service needs.
        from nova_rt import signatures
        from nova_rt.compute import hooks
        from nova_rt.conductor import hooks as conductor_hooks

        try:
            hooks.check()
            conductor_hooks.check()
        except signatures.UnknownNovaError as exc:
            return _result(upgradecheck.Code.FAILURE, str(exc))
        return _result(upgradecheck.Code.SUCCESS)

    def columns(self) -> upgradecheck.Result:
        """Whether every cell's database has the newest columns."""
        old = []
        try:
            manage_base.use_databases()
            for cell in cells.every():
                with cell.connection() as connection:
                    if history.revision(connection) != history.head():
                        old.append(cell.name)
        except (problems.UnusableDatabaseError, *problems.DATABASE_ERRORS) as exc:
            return _result(
                upgradecheck.Code.FAILURE, f'{problems.sentence(exc)}.')
        if old:
            return _result(
                upgradecheck.Code.WARNING,
                f'Cells without the newest columns: {", ".join(old)}; run '
                '"nova-rt-manage db upgrade". Nothing else needs them.')
        return _result(upgradecheck.Code.SUCCESS)

    def paste(self) -> upgradecheck.Result:
        """Whether our filter and our API are in nova-api's api-paste.ini."""
        name = nova.conf.CONF.wsgi.api_paste_config
        path = Path(nova.conf.CONF.find_file(name) or name)
        try:
            text = path.read_text()
            missing = paste_ini.added(text) != text
        except OSError as exc:
            return _result(
                upgradecheck.Code.WARNING,
                f'{path} cannot be read: {exc.strerror}. Run this where '
                'nova-api is.')
        except paste_ini.NoPipelineError as exc:
            return _result(upgradecheck.Code.WARNING, f'{path}: {exc}')
        if missing:
            return _result(
                upgradecheck.Code.WARNING,
                f'{path} lacks the API of nova-rt, or its filter in last place, which '
                f'refuses bad hints. Run "nova-rt-manage paste add {path}".')
        return _result(upgradecheck.Code.SUCCESS)

    def scheduler(self) -> upgradecheck.Result:
        """Whether the scheduler loads our filter and weigher."""
        conf = nova.conf.CONF.filter_scheduler
        if FILTER not in conf.enabled_filters:
            return _result(
                upgradecheck.Code.WARNING,
                f'[filter_scheduler] enabled_filters has no {FILTER}: '
                'Placement is not asked for shares, and servers are built in '
                'vain. Look at the nova.conf of nova-scheduler.')
        if not any(name.endswith(f'.{FILTER}')
                   for name in conf.available_filters):
            return _result(
                upgradecheck.Code.FAILURE,
                f'[filter_scheduler] available_filters has no {FILTER}: '
                'nova-scheduler does not start.')
        if WEIGHER not in conf.weight_classes:
            return _result(
                upgradecheck.Code.WARNING,
                f'[filter_scheduler] weight_classes has no {WEIGHER}: any '
                'host with room may be chosen.')
        return _result(upgradecheck.Code.SUCCESS)

    def vcpus(self) -> upgradecheck.Result:
        """Whether Placement lets run as many vCPUs as the bandwidth is enough for."""
        # Late: it imports what only a compute service needs.
        from nova import context

        from nova_rt.explain import vcpu_ratio

        try:
            manage_base.use_databases()
            low = vcpu_ratio.lowest(context.get_admin_context())
        except (problems.UnusableDatabaseError, *problems.DATABASE_ERRORS) as exc:
            return _result(
                upgradecheck.Code.WARNING, f'Not compared: {problems.sentence(exc)}.')
        if low:
            return _result(upgradecheck.Code.WARNING, str(low))
        return _result(upgradecheck.Code.SUCCESS)

    _upgrade_checks = (
        ('Release of Nova', release),
        ('Columns in the cells\' databases', columns),
        ('Filter of nova-api', paste),
        ('Filter of nova-scheduler', scheduler),
        ('vCPUs in Placement', vcpus),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks; return the exit status."""
    conf = nova.conf.CONF
    nova_rt.conf.register_opts(conf)
    upgradecheck.register_cli_options(conf, Checks())
    # It looks there for the option --json. Its own main() would not read
    # nova.conf as Nova does.
    upgradecheck.CONF = conf
    try:
        config.parse_args(
            ['nova-rt-status', *(sys.argv[1:] if argv is None else argv)],
            configure_db=False, prog='nova-rt-status')
    except (cfg.Error, OSError) as exc:
        print(f'The configuration cannot be read: {exc}', file=sys.stderr)
        return 255
    return upgradecheck.run(conf)


if __name__ == '__main__':
    sys.exit(main())
