# SPDX-License-Identifier: Apache-2.0
"""Our filter and our API in the text of an api-paste.ini; nothing else of it is touched."""

import re

from nova_rt import errors

FILTER = 'rt_reservations'
FILTER_SECTION = f'[filter:{FILTER}]\nuse = egg:nova-rt#{FILTER}\n'
# The root of our API needs no token, so that clients can discover its versions.
PATHS = '/rt: rt_versions\n/rt/+: rt_api\n'
# What every pipeline of the compute API ends with. The variants without
# authentication ("noauth2") are for tests, and keep out of our way.
APPLICATION = 'osapi_compute_app_v21'
_PIPELINE = re.compile(
    rf'^(?P<before>keystone\s*[=:].*\s)(?P<app>{APPLICATION})[ \t]*$',
    re.MULTILINE)
# nova-api's paths: all that the process answers.
_URLMAP = re.compile(
    r'^\[composite:osapi_compute\][ \t]*\n(?:(?!\[).*\n)*?use\s*[=:].*\n', re.MULTILINE)
_OURS = ('filter:rt_reservations', 'composite:rt_api', 'app:rt_api_app', 'app:rt_versions')
_SECTION = re.compile(
    rf'\n*^\[(?:{"|".join(_OURS)})\][ \t]*\n(?:(?!\[).*\n?)*', re.MULTILINE)
_PATH = re.compile(r'^/rt(?:/\+)?\s*[:=]\s*rt_(?:versions|api)[ \t]*\n', re.MULTILINE)


class NoPipelineError(errors.NovaRTError):
    """The text has no pipeline of the compute API."""


def added(text: str) -> str:
    """Return the text with our filter last in each pipeline, and our API at ``/rt``.

    The filter comes after Keystone's filters, so that who asks is known. The API gets
    the filters of the first pipeline. A text that has both is returned as it is.

    :raises NoPipelineError: if this is another service's file
    """
    clean = removed(text)
    pipeline = _PIPELINE.search(clean)
    if not pipeline or not _URLMAP.search(clean):
        raise NoPipelineError(
            f'It has no line "keystone = ... {APPLICATION}" or no section '
            '[composite:osapi_compute]: give the api-paste.ini of nova-api.')
    clean = _URLMAP.sub(rf'\g<0>{PATHS}', clean)
    return '\n\n'.join((
        _PIPELINE.sub(rf'\g<before>{FILTER} \g<app>', clean).rstrip('\n'),
        FILTER_SECTION.rstrip('\n'), api_sections(pipeline['before'])))


def api_sections(before: str) -> str:
    """Return the sections of our API.

    :param before: the line of a pipeline, up to its application
    """
    return (
        '[composite:rt_api]\nuse = call:nova.api.auth:pipeline_factory_v21\n'
        f'{before}rt_api_app\n\n'
        '[app:rt_api_app]\nuse = egg:nova-rt#rt_api\n\n'
        '[app:rt_versions]\nuse = egg:nova-rt#rt_versions\n')


def removed(text: str) -> str:
    """Return the text without our filter and our API."""
    without = _SECTION.sub('\n', _PATH.sub('', text)).rstrip('\n') + '\n'
    return re.sub(rf'(?<=\s){FILTER}[ \t]+(?={APPLICATION})', '', without)
