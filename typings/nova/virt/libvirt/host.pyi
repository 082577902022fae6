# SPDX-License-Identifier: Apache-2.0
from nova import objects
from nova.virt import event
from nova.virt.libvirt import guest

class Host:
    def list_guests(self, only_running: bool = ..., only_guests: bool = ...,
                    ) -> list[guest.Guest]: ...
    def get_guest(self, instance: objects.Instance | event.LifecycleEvent) -> guest.Guest: ...
