# SPDX-License-Identifier: Apache-2.0
"""tacker-rt: descriptors with reservations, checked and translated."""

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
import sys
from typing import Any
import zipfile
import zlib

import yaml

from nova_rt import errors
from tacker_rt import document
from tacker_rt import hot
from tacker_rt import problems
from tacker_rt import profile
from tacker_rt import translate
from tacker_rt import validation

_YAML = ('.yaml', '.yml')
_PACKAGES = ('.csar', '.zip')


class RefusedError(errors.NovaRTError):
    """A request that cannot be done; the message is a sentence."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console script and return its exit status.

    0 if all is well, 1 if a descriptor is wrong, 2 if the question is.
    """
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except RefusedError as error:
        return _said(error, 2)
    except document.UnreadableError as error:
        return _said(error, 1)
    except OSError as error:
        return _said(f'{error.filename}: {error.strerror}.', 2)
    return status


def _said(sentence: Any, status: int) -> int:
    print(f'tacker-rt: {sentence}', file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tacker-rt', description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    validate = commands.add_parser(
        'validate', help='tell all that is wrong with reservations',
        description='Tell all that is wrong with the reservations of '
        'descriptors: file, line, and what to write instead.')
    validate.add_argument(
        'paths', nargs='+', metavar='FILE',
        help='a descriptor, or a VNF package: a directory or CSAR')
    validate.set_defaults(run=_validate)
    _add_translate(commands.add_parser(
        'translate', help='write a descriptor as a Heat template',
        description='Write a descriptor as a Heat template that can be run, '
        'by heat-translator. A descriptor without '
        f'{translate.VERSION} is taken for one of {profile.VERSION}.'))
    types = commands.add_parser(
        'types', help='print the types for a template to import')
    types.set_defaults(run=_types)
    return parser


def _add_translate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('path', metavar='FILE', help='a descriptor')
    parser.add_argument(
        '-o', '--output', metavar='FILE', help='where to write the template; '
        'nested ones are written beside it')
    parser.add_argument(
        '--form', type=hot.Form, choices=list(hot.Form),
        default=hot.Form.HINTS, help='write reservations as scheduler hints '
        'or into a flavor (default: %(default)s)')
    parser.add_argument(
        '--input', action='append', default=[], metavar='NAME=VALUE',
        help='the value of an input; may be repeated')
    parser.set_defaults(run=_translate)


def _types(_: argparse.Namespace) -> int:
    print((Path(profile.__file__).parent / profile.DEFINITIONS).read_text(),
          end='')
    return 0


def _validate(arguments: argparse.Namespace) -> int:
    reports = []
    for path in arguments.paths:
        found = list(_files(Path(path)))
        if not found:
            raise RefusedError(f'{path} holds no descriptor: give a file, or a VNF '
                          'package with Definitions.')
        reports += [each for file, text in found
                    for each in _reports(file, text)]
    for each in reports:
        print(each)
    return 1 if reports else 0


def _files(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the descriptors that a path holds."""
    if path.is_dir():
        for each in sorted(path.glob('Definitions/*')) or sorted(
                path.glob('*')):
            if each.suffix in _YAML:
                yield str(each), _text(each.read_bytes(), str(each))
    elif path.suffix in _PACKAGES:
        yield from _packed(path)
    else:
        yield str(path), _text(path.read_bytes(), str(path))


def _packed(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with zipfile.ZipFile(path) as package:
            names = [name for name in package.namelist()
                     if name.endswith(_YAML)]
            # SOL004 has them there, or the one at the root.
            for name in ([name for name in names if 'Definitions' in name]
                         or [name for name in names if '/' not in name]):
                file = f'{path}/{name}'
                yield file, _text(package.read(name), file)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError,
            RuntimeError) as error:
        raise RefusedError(f'{path} is no package that can be read: '
                      f'{error}.') from error


def _text(content: bytes, file: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content[:error.start].count(b'\n') + 1
        raise document.UnreadableError(document.Report(
            file, line, 'This is no text in UTF-8.')) from error


def _reports(file: str, text: str) -> list[document.Report]:
    """Return all that is wrong with a descriptor, by line."""
    try:
        source = document.load(file, text)
    except document.UnreadableError as error:
        return [error.report]
    _, wrong = validation.validate(source.content)
    reports = [*source.twice(), *map(source.report, wrong)]
    return sorted(reports, key=lambda each: each.line)


def _translate(arguments: argparse.Namespace) -> int:
    source = _source(Path(arguments.path))
    twice = list(source.twice())
    if twice:
        raise document.UnreadableError(twice[0])
    name = Path(arguments.output or 'stdout.yaml').name
    try:
        templates = translate.translate(
            source, name, arguments.form, _inputs(arguments.input))
    except problems.InvalidDescriptorError as error:
        for each in error.problems:
            print(source.report(each), file=sys.stderr)
        return 1
    except translate.UntranslatableError as error:
        for line in str(error).splitlines():
            print(f'{arguments.path}: {line}', file=sys.stderr)
        return 1
    _write(templates, name, arguments.output)
    return 0


def _source(path: Path) -> document.Document:
    if path.is_dir() or path.suffix in _PACKAGES:
        raise RefusedError(f'{path} is a package: name a descriptor in it, such '
                      'as Definitions/df_simple.yaml.')
    source = document.load(str(path), _text(path.read_bytes(), str(path)))
    if source.restored:
        print(f'{path}: the indentation is lost, and was restored.',
              file=sys.stderr)
    return source


def _inputs(given: list[str]) -> dict[str, Any]:
    values = {}
    for each in given:
        name, equals, value = each.partition('=')
        if not (name and equals):
            raise RefusedError(f'--input {each} has no value: give NAME=VALUE.')
        values[name] = int(value) if value.isdecimal() else value
    return values


def _write(templates: translate.Templates, name: str,
           output: str | None) -> None:
    if not output:
        if len(templates) > 1:
            raise RefusedError('This makes nested templates: say with --output '
                          'where to write them.')
        print(_dumped(templates[name]), end='')
        return
    for name, template in templates.items():
        Path(output).with_name(name).write_text(_dumped(template))


def _dumped(template: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(template, sort_keys=False, allow_unicode=True)
    return text


if __name__ == '__main__':
    sys.exit(main())
