# SPDX-License-Identifier: Apache-2.0
"""Options of nova-rt that a service of Nova has for the length of a test."""

from collections.abc import Iterator
import contextlib

from stack import cloud as stack_cloud


@contextlib.contextmanager
def of(stack: stack_cloud.Cloud, service: str, *lines: str) -> Iterator[None]:
    """Have a service run with more lines in section [rt] of nova.conf.

    :param service: as the stack names it; it is restarted, and once more at the end
    """
    conf = stack.site.rundir.etc / 'nova' / 'nova.conf'
    text = conf.read_text()
    changed = text.replace('[rt]\n', '\n'.join(('[rt]', *lines, '')), 1)
    assert changed != text
    conf.write_text(changed)
    try:
        stack.restart(service)
        yield
    finally:
        conf.write_text(text)
        stack.restart(service)
