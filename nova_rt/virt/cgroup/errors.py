# SPDX-License-Identifier: Apache-2.0
"""What may go wrong with control groups, and what to do about it."""

import errno
import re

from nova_rt import errors


class CgroupError(errors.NovaRTError):
    """The control groups do not take a reservation."""


class MissingControlFileError(CgroupError):
    """A control file that must be there is not; the message says what to do."""


class UnenforcedError(CgroupError):
    """The kernel is set to enforce or admit no budget; the message says what to do."""


class UnspokenError(CgroupError):
    """The kernel does not speak the dialect that is asked for."""


class KernelRefusalError(CgroupError):
    """The kernel refused a reservation; the message says why and what to do.

    :ivar errno: what the kernel answered
    """

    def __init__(self, sentence: str, number: int) -> None:
        super().__init__(sentence)
        self.errno = number


# What an operator can do about each refusal (cgroup documentation and
# tg_set_rt_bandwidth() in kernel/sched/rt.c).
_ADVICE = {
    errno.EINVAL: 'the bandwidth is more than the parent group or the global '
                  'limit (kernel.sched_rt_runtime_us) has left: look which '
                  'other groups hold real-time runtime',
    errno.EBUSY: 'real-time tasks are running in the group: stop them before '
                 'their runtime is taken away',
    errno.EPERM: 'the kernel does not let this process change real-time '
                 'budgets: run nova-rt-compute as root',
    errno.EACCES: 'the file is not writable: run nova-rt-compute as root and '
                  'mount the control groups read-write',
    errno.ENOENT: 'the group has gone: its container has ended',
    errno.ENODEV: 'the group has gone: its container has ended',
    errno.EROFS: 'the control groups are mounted read-only: mount them '
                 'read-write',
    errno.ERANGE: 'the number is larger than the kernel takes',
    errno.ENOMEM: 'the kernel has no memory for it: free some',
    errno.EAGAIN: 'there may be no more groups below this one: raise '
                  'cgroup.max.descendants and cgroup.max.depth above it',
    errno.EOPNOTSUPP: 'the group is threaded, or has processes of its own: '
                      'use another one',
    errno.EMFILE: 'nova-rt-compute has too many files open: raise its limit',
    errno.ENFILE: 'the machine has too many files open: raise fs.file-max',
}
# EBUSY for a budget that is not 0 (dl_bw_manage() and tg_set_rt_bandwidth() with
# HCBS): SCHED_DEADLINE and the groups share one bandwidth.
_NO_ROOM_BESIDE = ('SCHED_DEADLINE tasks and servers have taken the bandwidth: '
                   'end them, or lower the budgets of other groups')


def kernel_refusal(group: str, name: str, action: str,
                   number: int | None) -> KernelRefusalError:
    """Return the kernel's answer as an exception with a sentence.

    :param name: the control file, empty if the group itself was made or removed
    :param action: the text that was written, or what else was tried
    :param number: the errno
    """
    number = number or 0
    path = f'{group}/{name}'.strip('/')
    advice = _ADVICE.get(number, 'see the kernel log')
    if number == errno.EBUSY and re.search('[1-9]', action):
        advice = _NO_ROOM_BESIDE
    return KernelRefusalError(
        f'The kernel refused {action.strip()} in /{path} '
        f'({errno.errorcode.get(number, number)}): {advice}.', number)


def missing_group(group: str) -> MissingControlFileError:
    """Return the error for a group that no longer exists."""
    return MissingControlFileError(
        f'The control group /{group} has gone: its container has ended.')


def missing_file(group: str, name: str) -> MissingControlFileError:
    """Return the error for a group that lacks a control file."""
    return MissingControlFileError(
        f'The control group /{group} has no file {name}: the kernel has '
        'no real-time control groups there, or real-time tasks outside '
        'kept the cpu controller from being turned on; see nova-rt\'s '
        'operator guide.')
