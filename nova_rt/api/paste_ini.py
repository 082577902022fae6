# SPDX-License-Identifier: Apache-2.0
"""Our filter in the text of an api-paste.ini; nothing else of it is touched."""

import re

from nova_rt import errors

FILTER = 'rt_reservations'
SECTION = f'[filter:{FILTER}]\nuse = egg:nova-rt#{FILTER}\n'
# What every pipeline of the compute API ends with. The variants without
# authentication ("noauth2") are for tests, and keep out of our way.
APPLICATION = 'osapi_compute_app_v21'
_PIPELINE = re.compile(
    rf'^(?P<before>keystone\s*[=:].*\s)(?P<app>{APPLICATION})[ \t]*$',
    re.MULTILINE)
_SECTION = re.compile(
    rf'\n*^\[filter:{FILTER}\][ \t]*\n(?:(?!\[).*\n?)*', re.MULTILINE)


class NoPipelineError(errors.NovaRTError):
    """The text has no pipeline of the compute API."""


def added(text: str) -> str:
    """Return the text with our filter last in each pipeline.

    It comes after Keystone's filters, so that who asks is known. A text that
    has it is returned as it is.

    :raises NoPipelineError: if this is another service's file
    """
    if not _PIPELINE.search(text):
        raise NoPipelineError(
            f'It has no line "keystone = ... {APPLICATION}": give the '
            'api-paste.ini of nova-api.')
    clean = removed(text)
    return _PIPELINE.sub(
        rf'\g<before>{FILTER} \g<app>', clean).rstrip('\n') + '\n\n' + SECTION


def removed(text: str) -> str:
    """Return the text without our filter."""
    without = _SECTION.sub('\n', text).rstrip('\n') + '\n'
    return re.sub(rf'(?<=\s){FILTER}[ \t]+(?={APPLICATION})', '', without)
