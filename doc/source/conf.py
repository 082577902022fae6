# SPDX-License-Identifier: Apache-2.0
"""Configuration of the documentation."""

from pathlib import Path
import sys

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / 'ext')]

from nova_rt import bandwidth  # noqa: E402
from nova_rt import reservation  # noqa: E402

project = 'nova-rt'
copyright = 'the nova-rt maintainers'

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'sphinx.ext.autodoc',
    'cliff.sphinxext',
    'operations',
    'programs',
    'refusal',
]
autodoc_member_order = 'bysource'
html_theme = 'openstackdocs'
# The theme's links lead to a bug tracker and a repository of OpenStack's own.
openstackdocs_repo_name = ''
openstackdocs_auto_name = False
openstackdocs_pdf_link = False
openstackdocs_bug_project = ''
openstackdocs_use_storyboard = False

# Numbers that the pages quote come from the code.
rst_prolog = '\n'.join(
    f'.. |{name}| replace:: {value}' for name, value in {
        'MIN_RUNTIME_US': bandwidth.MIN_RUNTIME_US,
        'MIN_PERIOD_US': bandwidth.MIN_PERIOD_US,
        'MAX_PERIOD_US': bandwidth.MAX_PERIOD_US,
        'MAX_PRIORITY': reservation.MAX_PRIORITY,
    }.items())
