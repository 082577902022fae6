# SPDX-License-Identifier: Apache-2.0
"""Horizon's settings for its own tests, with our plug-in enabled."""

from openstack_dashboard import enabled
from openstack_dashboard.test.settings import *  # noqa: F403
from openstack_dashboard.test.settings import HORIZON_CONFIG
from openstack_dashboard.test.settings import INSTALLED_APPS
from openstack_dashboard.utils import settings as utils

from horizon_rt import enabled as ours

ROOT_URLCONF = 'openstack_dashboard.urls'
SESSION_ENGINE = 'django.contrib.sessions.backends.signed_cookies'
COMPRESS_ENABLED = False
# As Horizon has it; its own tests allow everybody everything.
POLICY_CHECK_FUNCTION = 'openstack_auth.policy.check'
# Once more, from the start: Horizon's own settings have read the folder without ours.
for name in ('dashboards', 'default_dashboard', 'js_files', 'angular_modules'):
    HORIZON_CONFIG.pop(name, None)
utils.update_dashboards([enabled, ours], HORIZON_CONFIG, INSTALLED_APPS)
INSTALLED_APPS = list(dict.fromkeys(INSTALLED_APPS))
