# SPDX-License-Identifier: Apache-2.0
"""Why a kernel does not take SCHED_DEADLINE, and what to do about it."""

import errno

from nova_rt import errors


class DeadlineError(errors.NovaRTError):
    """A thread does not get SCHED_DEADLINE; the message says what to do."""


class UnsupportedError(DeadlineError):
    """The machine has no way to ask for SCHED_DEADLINE."""


class RefusalError(DeadlineError):
    """The kernel refused SCHED_DEADLINE; the message says why and what to do.

    :ivar errno: what the kernel answered
    """

    def __init__(self, sentence: str, number: int) -> None:
        super().__init__(sentence)
        self.errno = number


class MigratingError(DeadlineError):
    """The virtual machine is between two hosts, and does not run."""


# What an operator can do about each (__checkparam_dl(), user_check_sched_setscheduler()
# and __sched_setscheduler() in kernel/sched).
NOT_PINNED = (
    'set kernel.sched_rt_runtime_us to -1, or give each pCPU a root domain of its own '
    '(a cpuset partition)')
_NO_CAPABILITY = 'this process lacks CAP_SYS_NICE: run nova-rt-compute as root'
_ADVICE = {
    errno.EPERM: f'the thread may not run on all CPUs of its root domain: {NOT_PINNED}',
    errno.EBUSY: 'the kernel has admitted SCHED_DEADLINE up to its limit there: end the '
                 'threads that have it, or raise kernel.sched_rt_runtime_us',
    errno.EINVAL: 'the kernel takes periods from kernel.sched_deadline_period_min_us to '
                  'kernel.sched_deadline_period_max_us: widen these limits, or choose '
                  'another period',
}
_PIN_ADVICE = {
    errno.EINVAL: 'the CPU is offline, or not in the cpuset of the thread\'s control group: '
                  'bring it up, or leave it out of [rt] cpu_set',
    errno.EBUSY: 'the thread is under SCHED_DEADLINE already: restart its server',
}


def refusal(thread: int, action: str, number: int | None, capable: bool) -> RefusalError:
    """Return the kernel's answer to sched_setattr() as an exception with a sentence.

    :param action: what was asked for
    :param number: the errno
    :param capable: whether this process has CAP_SYS_NICE
    """
    return _refusal(thread, action, number, _ADVICE, capable)


def pin_refusal(thread: int, pcpu: int, number: int | None, capable: bool) -> RefusalError:
    """Return the kernel's answer to sched_setaffinity() likewise."""
    return _refusal(thread, f'to be pinned to pCPU {pcpu}', number, _PIN_ADVICE, capable)


def _refusal(thread: int, action: str, number: int | None, advice: dict[int, str],
             capable: bool) -> RefusalError:
    number = number or 0
    sentence = advice.get(number, 'see the kernel log')
    if number == errno.EPERM and not capable:
        sentence = _NO_CAPABILITY
    return RefusalError(
        f'The kernel refused thread {thread} {action} '
        f'({errno.errorcode.get(number, number)}): {sentence}.', number)


def ended(thread: int) -> ProcessLookupError:
    """Return the error for a thread that no longer exists."""
    return ProcessLookupError(f'Thread {thread} has ended.')
