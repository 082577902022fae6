# SPDX-License-Identifier: Apache-2.0
"""Stands in for DevStack's functions on INI files; see recorder.sh."""

import sys


def sections(path):
    """Return [section, lines] pairs; the first one has no name."""
    found = [['', []]]
    with open(path) as file:
        for line in file.read().splitlines():
            if line.startswith('['):
                found.append([line.strip('[]'), []])
            else:
                found[-1][1].append(line)
    return found


def key_of(line):
    """Return the option that a line sets."""
    return line.partition('=')[0].strip()


def write(path, found):
    """Write all sections."""
    with open(path, 'w') as file:
        for name, lines in found:
            if name:
                file.write(f'[{name}]\n')
            file.writelines(f'{line}\n' for line in lines)


def main(action, path, section, key, *values):
    """Do as iniset, iniset_multiline, iniget or inidelete."""
    found = sections(path)
    here = [lines for name, lines in found if name == section]
    if action == 'get':
        got = [line.partition('=')[2].strip() for lines in here
               for line in lines if key_of(line) == key]
        print(got[-1] if got else '')
        return
    for lines in here:
        lines[:] = [line for line in lines if key_of(line) != key]
    if values:
        if not here:
            found.append([section, []])
            here = [found[-1][1]]
        here[0].extend(f'{key} = {value}' for value in values)
    write(path, found)


main(*sys.argv[1:])
