# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import objects
from nova.virt import event
from nova.virt.libvirt import guest

class Host:
    def get_connection(self) -> Any: ...
    def list_guests(self, only_running: bool = ..., only_guests: bool = ...,
                    ) -> list[guest.Guest]: ...
    def get_guest(self, instance: objects.Instance | event.LifecycleEvent) -> guest.Guest: ...
