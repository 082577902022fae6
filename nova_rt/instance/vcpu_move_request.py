# SPDX-License-Identifier: Apache-2.0
"""Moves a vCPU of a server to another pCPU of its host: the operator's side.

The server's compute node makes the move, all or nothing.
"""

from __future__ import annotations

from nova import context as nova_context

from nova_rt.instance import compute_call


def move(context: nova_context.RequestContext, server: str, host: str, source: int,
         target: int) -> None:
    """Move the vCPU of a server that is on one pCPU to another.

    :param server: its uuid
    :param host: the name of the host that the pCPUs are of
    :param source: the pCPU that the vCPU leaves
    :param target: the pCPU that it then runs on
    :raises UnansweredError: if its host did not answer, or failed at it
    :raises RefusedError: if it stays as it was
    :raises InstanceMappingNotFound, InstanceNotFound: if Nova does not know it
    """
    with compute_call.located(context, server) as (cell, instance):
        if instance.host != host:
            raise compute_call.RefusedError(f'The server is no longer on {host}.')
        compute_call.call(
            cell, instance, 'move_vcpu',
            'look again where the vCPU is when it does', 'within a minute',
            source=source, target=target)
