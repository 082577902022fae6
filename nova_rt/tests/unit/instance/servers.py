# SPDX-License-Identifier: Apache-2.0
"""Nova's objects for tests of what they say, without a database."""

from nova import objects

from nova_rt import reservation

objects.register_all()

UUID = 'b0000000-0000-4000-8000-000000000001'
MOVE = 'b0000000-0000-4000-8000-000000000002'
HERE, THERE = ('host1', 'node1'), ('host2', 'node2')


def flavor(percent):
    """Return a flavor with this bandwidth on each of two vCPUs; None: without."""
    extra_specs = {} if percent is None else {
        reservation.EXTRA_SPECS[0]: str(percent * 1000),
        reservation.EXTRA_SPECS[1]: '100000'}
    return objects.Flavor(
        vcpus=2, memory_mb=64, root_gb=1, ephemeral_gb=0, swap=0,
        rxtx_factor=1.0, vcpu_weight=0, extra_specs=extra_specs)


def server(percent=30, place=HERE, vm_state='active', task_state=None,
           power_state=1, old=None, new=None, switched=False, moved=False,
           **system_metadata):
    """Return an instance; the masks of its pCPUs are ``system_metadata``.

    :param old, new: the bandwidths of the sides of a move, in percent
    :param switched: whether it has its new flavor by now
    :param moved: whether it is under way by the migration of :func:`migration`
    """
    return objects.Instance(
        uuid=UUID, host=place and place[0], node=place and place[1],
        vm_state=vm_state, task_state=task_state, power_state=power_state,
        flavor=flavor(percent), instance_type_id=2 if switched else 1,
        old_flavor=flavor(old) if old else None,
        new_flavor=flavor(new) if new else None,
        migration_context=objects.MigrationContext(migration_id=7)
        if moved else None, system_metadata=system_metadata)


def migration(source=HERE, destination=THERE, kind='resize'):
    """Return a move of the server."""
    return objects.Migration(
        id=7, uuid=MOVE, migration_type=kind, old_instance_type_id=1,
        new_instance_type_id=2, instance_uuid=UUID,
        source_compute=source[0], source_node=source[1],
        dest_compute=destination[0], dest_node=destination[1])
