# SPDX-License-Identifier: Apache-2.0
"""The reservations of one host, as its kernel holds them."""

import abc
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from nova_rt import drifts
from nova_rt import errors
from nova_rt import ledger
from nova_rt import shares
from nova_rt import usage
from nova_rt.virt import shrinks


class UnavailableError(errors.NovaRTError):
    """The host cannot offer reservations; the message says what to do."""


class Host(abc.ABC):
    """Applies reservations to the servers on a host, and takes them back.

    :ivar empty: the host's pCPUs without any reservation
    :ivar lends: whether :meth:`lend` may have an effect
    """

    empty: shares.HostShares
    lends = False

    @property
    @abc.abstractmethod
    def dialect(self) -> str:
        """The name of the kernel's dialect, ``none`` without one."""

    @abc.abstractmethod
    def apply(self, number: int, holding: ledger.Holding) -> None:
        """Give a server its reservation, if it does not have it already.

        :param number: libvirt's id of the server's domain
        :raises NovaRTError: if it cannot have it
        :raises ProcessLookupError: if it has ended
        """

    @abc.abstractmethod
    def move(self, number: int, holding: ledger.Holding) -> None:
        """Take a vCPU of a running server to another pCPU.

        It has its bandwidth all the while, and takes none of anybody else's. Call it
        again with what the server had to take back what failed halfway.

        :param number: libvirt's id of the server's domain
        :param holding: what it has afterwards, on pCPUs of which one is another
        :raises NovaRTError: if that is not possible
        :raises ProcessLookupError: if it has ended
        """

    @abc.abstractmethod
    def can_move(self) -> bool:
        """Return whether the kernel lets :meth:`move` work."""

    @property
    def one_runtime(self) -> bool:
        """Whether a server has the same bandwidth on all of its pCPUs, with a loan as well."""
        return False

    def lend(self, number: int, most: int, until_s: float,
             shrink: bool = False) -> Mapping[int, int]:
        """Let a server have what is free on its pCPUs, until it is needed or given back.

        One that is shrunk has its own reservation again instead.

        :param most: bandwidth in addition to its own on each pCPU, in fixed point
        :param until_s: when :meth:`reconcile` ends it, by CLOCK_MONOTONIC
        :param shrink: whether less critical elastic servers are shrunk if that is too little
        :returns: by pCPU, the bandwidth that is lent; empty if there is nothing to lend
        :raises NovaRTError, OSError: if it cannot be lent
        """
        return {}

    def give_back(self, number: int) -> bool:
        """Take from a server what it has on loan; return whether it had anything.

        :raises NovaRTError, OSError: if that is not possible now
        """
        return False

    def loan(self, number: int) -> Mapping[int, int]:
        """Return by pCPU the bandwidth that a server has on loan; empty if it has nothing."""
        return {}

    def shrunk(self) -> Mapping[int, shrinks.Shrink]:
        """Return what servers have given up to others, by libvirt's id of each."""
        return {}

    def given_up(self, running: Mapping[str, int]) -> Mapping[str, Sequence[int]]:
        """Return by server and pCPU what others have of it by now; those alone that gave.

        :param running: by server, libvirt's id of its domain
        """
        return {}

    @abc.abstractmethod
    def try_out(self, holding: ledger.Holding) -> None:
        """Find out whether the kernel would admit a reservation now.

        :raises NovaRTError: if not
        """

    @abc.abstractmethod
    def permit(self, number: int, priority: int) -> None:
        """Let a server's processes choose real-time policies, if they may not yet.

        :param number: libvirt's id of the server's domain
        :param priority: the highest that they may choose
        :raises NovaRTError: if that is not possible
        """

    @abc.abstractmethod
    def reconcile(self, running: Iterable[tuple[int, ledger.Holding]]) -> None:
        """Make the kernel hold what the running servers hold, no more.

        :param running: libvirt's id and holding of each; one that cannot be
            applied is logged, the others are not affected
        """

    @abc.abstractmethod
    def survey(self, running: Mapping[str, int]) -> drifts.Kernel | None:
        """Return what the kernel holds, None if nothing is offered here.

        :param running: by server, libvirt's id of its domain
        """

    @abc.abstractmethod
    def usages(self, running: Mapping[str, tuple[int, ledger.Holding]],
               ) -> usage.ByServer:
        """Return what the kernel has given to servers, by server and pCPU.

        :param running: by server, libvirt's id of its domain, and its holding; one that
            cannot be read is left out
        """

    @abc.abstractmethod
    def group_of(self, number: int) -> str | None:
        """Return a running server's control group, None if that is not needed."""

    @abc.abstractmethod
    def take_back(self, group: str) -> None:
        """Take back what is left of a server that has ended."""

    @abc.abstractmethod
    def take_back_all(self) -> None:
        """Take back what no running server needs."""
