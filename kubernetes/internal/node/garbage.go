// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"nova-rt/kubernetes/internal/claim"
)

// CollectGarbage forgets claims that no longer exist, or are not allocated on this node,
// and that no container has: the kubelet forgets to unprepare those if it loses its
// checkpoint.
func (n *Node) CollectGarbage(ctx context.Context) error {
	records, err := n.recorded()
	if err != nil {
		return err
	}
	var problems []error
	for uid, record := range records {
		present, err := n.Claims.Get(ctx, record.Namespace, record.Name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if present != nil && string(present.UID) == uid && n.allocatedHere(present) {
			continue
		}
		problems = append(problems, n.forgetUnused(record))
	}
	return errors.Join(problems...)
}

func (n *Node) recorded() (map[string]claim.Reserved, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.Records.All()
}

func (n *Node) allocatedHere(present *resourceapi.ResourceClaim) bool {
	return present.Status.Allocation != nil && slices.ContainsFunc(present.Status.Allocation.Devices.Results,
		func(result resourceapi.DeviceRequestAllocationResult) bool {
			return result.Driver == claim.Driver && result.Pool == n.Pool
		})
}

// forgetUnused forgets a claim as it was judged: meanwhile, it may have been prepared anew.
func (n *Node) forgetUnused(judged claim.Reserved) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.synchronized {
		return nil
	}
	present, err := n.Records.Get(judged.UID)
	if err != nil || present == nil || !present.Equal(judged) {
		return err
	}
	for _, running := range n.containers {
		if n.uses(running, judged) {
			return nil
		}
	}
	return n.Records.Remove(judged.UID)
}
