# SPDX-License-Identifier: Apache-2.0
"""The plug-in as tempest loads it."""

from pathlib import Path

from tempest.test_discover import plugins

from nova_rt_tempest_plugin import config

HERE = Path(__file__).parent


class Plugin(plugins.TempestPlugin):
    """See the base class for each method."""

    def load_tests(self):
        """Return the directory of the tests and the top-level directory."""
        return str(HERE / 'tests'), str(HERE.parent)

    def register_opts(self, conf):
        """Register group ``[nova_rt]``."""
        conf.register_group(config.GROUP)
        conf.register_opts(config.OPTS, group=config.GROUP)

    def get_opt_lists(self):
        """Return the options for a sample tempest.conf."""
        return [(config.GROUP.name, config.OPTS)]
