# SPDX-License-Identifier: Apache-2.0
"""tacker-rt: check and translate descriptors with reservations."""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
from typing import Any

import yaml

from nova_rt import errors
from nova_rt import reservation
from tacker_rt import document
from tacker_rt import hot
from tacker_rt import manifest_translation
from tacker_rt import package
from tacker_rt import problems
from tacker_rt import profile
from tacker_rt import translate
from tacker_rt import validation


class RefusedError(errors.NovaRTError):
    """A command that cannot be carried out; the message is a sentence."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console script and return its exit status.

    0 on success, 1 if a descriptor is invalid, 2 if the command line is.
    """
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (RefusedError, package.RefusedError) as exc:
        return _fail(exc, 2)
    except document.UnreadableError as exc:
        return _fail(exc, 1)
    except OSError as exc:
        return _fail(f'{exc.filename}: {exc.strerror}.', 2)
    return status


def _fail(sentence: Any, status: int) -> int:
    print(f'tacker-rt: {sentence}', file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tacker-rt', description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    validate = commands.add_parser(
        'validate', help='report all problems with reservations',
        description='Report all problems with the reservations in '
        'descriptors: file, line, and what to write instead.')
    validate.add_argument(
        'paths', nargs='+', metavar='FILE',
        help='a descriptor, or a VNF package: a directory or CSAR')
    validate.set_defaults(run=_validate)
    _add_translate(commands.add_parser(
        'translate', help='write a descriptor as a Heat template',
        description='Write a descriptor as a Heat template ready to run, '
        'using heat-translator. A descriptor without '
        f'{translate.VERSION} is read as {profile.VERSION}.'))
    _add_manifests(commands)
    types = commands.add_parser(
        'types', help='print the types for a template to import')
    types.set_defaults(run=_types)
    return parser


def _add_translate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('path', metavar='FILE', help='a descriptor')
    parser.add_argument(
        '-o', '--output', metavar='FILE', help='where to write the template; '
        'nested templates are written next to it')
    parser.add_argument(
        '--form', type=hot.Form, choices=list(hot.Form),
        default=hot.Form.HINTS, help='write reservations as scheduler hints '
        'or into a flavor (default: %(default)s)')
    parser.add_argument(
        '--input', action='append', default=[], metavar='NAME=VALUE',
        help='the value of an input; may be repeated')
    parser.set_defaults(run=_translate)


def _add_manifests(commands: Any) -> None:
    to_claims = commands.add_parser(
        'claims', help='write Kubernetes manifests with the reservations of a descriptor',
        description='Write a ResourceClaimTemplate for each VDU with a reservation, and the '
        'objects of manifests, whose pods get a claim of it. A VDU is found by its property '
        'name.')
    to_claims.add_argument('path', metavar='FILE', help='a descriptor')
    to_claims.add_argument('manifests', nargs='*', metavar='MANIFEST')
    to_claims.set_defaults(run=_claims)
    to_vdus = commands.add_parser(
        'vdus', help='write VDUs with the reservations of Kubernetes manifests',
        description='Write the node templates of a VNFD for the objects of manifests whose '
        'pods have a claim with a reservation.')
    to_vdus.add_argument('manifests', nargs='+', metavar='MANIFEST')
    to_vdus.set_defaults(run=_vdus)


def _types(_: argparse.Namespace) -> int:
    print((Path(profile.__file__).parent / profile.DEFINITIONS).read_text(),
          end='')
    return 0


def _validate(arguments: argparse.Namespace) -> int:
    reports = [report for path in arguments.paths for report in _reports(Path(path))]
    for report in reports:
        print(report)
    return 1 if reports else 0


def _reports(path: Path) -> list[document.Report]:
    """Return all problems of a descriptor or package."""
    if not package.is_package(path):
        return package.reports(str(path), package.text(path.read_bytes(), str(path)))
    given = package.Package(path, f'{path}/')
    if not given.descriptors():
        raise RefusedError(f'{path} contains no descriptor: give a file, or a VNF package with '
                           'Definitions.')
    return given.check(given.manifests)


def _claims(arguments: argparse.Namespace) -> int:
    source = _source(Path(arguments.path))
    _, wrong = validation.validate(source.content)
    if not wrong:
        try:
            made = manifest_translation.to_claims(source, _objects(arguments.manifests))
            print(_dump_all(made), end='')
            return 0
        except problems.InvalidDescriptorError as exc:
            wrong = list(exc.problems)
        except reservation.InvalidReservationError as exc:
            return _fail(exc, 1)
    for problem in wrong:
        print(source.report(problem), file=sys.stderr)
    return 1


def _vdus(arguments: argparse.Namespace) -> int:
    try:
        nodes = manifest_translation.to_vdus(_objects(arguments.manifests))
    except reservation.InvalidReservationError as exc:
        return _fail(exc, 1)
    if not nodes:
        return _fail('No pod of these manifests has a claim with a reservation.', 1)
    print(_dump(nodes), end='')
    return 0


def _objects(paths: list[str]) -> list[dict[str, Any]]:
    """Return the objects in manifests."""
    return [each.content for path in paths
            for each in document.load_all(path, package.text(Path(path).read_bytes(), path))
            if isinstance(each.content, dict)]


def _dump_all(objects: list[dict[str, Any]]) -> str:
    text: str = yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True)
    return text


def _translate(arguments: argparse.Namespace) -> int:
    source = _source(Path(arguments.path))
    duplicates = list(source.duplicates())
    if duplicates:
        raise document.UnreadableError(duplicates[0])
    name = Path(arguments.output or 'stdout.yaml').name
    try:
        templates = translate.translate(
            source, name, arguments.form, _inputs(arguments.input))
    except problems.InvalidDescriptorError as exc:
        for problem in exc.problems:
            print(source.report(problem), file=sys.stderr)
        return 1
    except translate.UntranslatableError as exc:
        for line in str(exc).splitlines():
            print(f'{arguments.path}: {line}', file=sys.stderr)
        return 1
    _write(templates, name, arguments.output)
    return 0


def _source(path: Path) -> document.Document:
    if package.is_package(path):
        raise RefusedError(
            f'{path} is a package: name a descriptor in it, such as '
            'Definitions/df_simple.yaml.')
    source = document.load(str(path), package.text(path.read_bytes(), str(path)))
    if source.restored:
        print(f'{path}: the indentation was lost and has been restored.',
              file=sys.stderr)
    return source


def _inputs(given: list[str]) -> dict[str, Any]:
    values = {}
    for argument in given:
        name, equals, value = argument.partition('=')
        if not (name and equals):
            raise RefusedError(
                f'--input {argument} has no value: give NAME=VALUE.')
        values[name] = int(value) if value.isdecimal() else value
    return values


def _write(templates: translate.Templates, name: str,
           output: str | None) -> None:
    if not output:
        if len(templates) > 1:
            raise RefusedError(
                'This makes nested templates: give --output to say where to '
                'write them.')
        print(_dump(templates[name]), end='')
        return
    for name, template in templates.items():
        Path(output).with_name(name).write_text(_dump(template))


def _dump(template: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(template, sort_keys=False, allow_unicode=True)
    return text


if __name__ == '__main__':
    sys.exit(main())
