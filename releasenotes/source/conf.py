# SPDX-License-Identifier: Apache-2.0
"""Configuration of the release notes."""

project = 'nova-rt release notes'
copyright = 'the nova-rt maintainers'

extensions = [
    'openstackdocstheme',
    'reno.sphinxext',
]
html_theme = 'openstackdocs'
openstackdocs_repo_name = ''
openstackdocs_auto_name = False
openstackdocs_pdf_link = False
openstackdocs_bug_project = ''
openstackdocs_use_storyboard = False
