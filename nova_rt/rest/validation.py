# SPDX-License-Identifier: Apache-2.0
"""Checks of what a caller sends, with a sentence for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

import jsonschema
from oslo_serialization import jsonutils
import webob

from nova_rt import wording
from nova_rt.rest import endpoints
from nova_rt.rest import errors

_LONGEST = 200
_NUMBER = re.compile(r'[0-9]{1,9}')


def query_of(request: webob.Request,
             schemas: Mapping[str, endpoints.Schema]) -> dict[str, Any]:
    """Return the parameters of a request, with defaults where there are any.

    :raises RefusedError: if one is unknown, given twice or invalid
    """
    given = request.GET
    for name in given:
        if name not in schemas:
            known = ', '.join(sorted(schemas)) or 'none'
            raise errors.RefusedError(
                f'There is no parameter {wording.shown(name)} here; known: {known}.')
        if len(given.getall(name)) > 1:
            raise errors.RefusedError(f'The parameter {name} is given twice: give it once.')
    query = {name: schema['default'] for name, schema in schemas.items()
             if 'default' in schema}
    for name, text in given.items():
        query[name] = _parsed(text, schemas[name])
        _check(query[name], schemas[name], f'the parameter {name}')
    return query


def body_of(request: webob.Request, schema: endpoints.Schema | None) -> endpoints.Json:
    """Return the decoded body of a request.

    :raises RefusedError: if it is no JSON, or not of this schema
    """
    if schema is None:
        return {}
    if request.content_type != 'application/json':
        raise errors.ContentTypeError(
            'The body must be JSON: send it with the header "Content-Type: '
            'application/json".')
    try:
        body = jsonutils.loads(request.body)
        # Half of a surrogate pair, which JSON can escape, is text for nobody: no database takes it.
        jsonutils.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise errors.RefusedError('The body is not valid JSON.') from None
    _check(body, schema, 'the body')
    return dict(body)


def _parsed(text: str, schema: endpoints.Schema) -> object:
    """Return the number that a parameter is; the text if it is none."""
    if schema.get('type') == 'integer' and _NUMBER.fullmatch(text):
        return int(text)
    return text


def _check(value: object, schema: endpoints.Schema, what: str) -> None:
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    wrong = jsonschema.exceptions.best_match(validator.iter_errors(value))
    if wrong is not None:
        where = '.'.join(map(str, wrong.absolute_path))
        # It quotes what was sent, whatever that is.
        message = wrong.message.replace(repr(wrong.instance), wording.shown(wrong.instance))
        raise errors.RefusedError(wording.shortened(
            f'In {what}{f", {where}" if where else ""}: {message}', _LONGEST) + '.')
