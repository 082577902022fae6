# SPDX-License-Identifier: Apache-2.0
from nova import objects

def get_pci_requests_from_flavor(flavor: objects.Flavor) -> objects.InstancePCIRequests: ...
