// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"time"

	resourceapi "k8s.io/api/resource/v1"

	"nova-rt/kubernetes/internal/claim"
)

// The runtime waits 2 s for its plug-ins.
const askWithin = 800 * time.Millisecond

// answer is what the API server says of a claim that is recorded for another pod than asks.
type answer struct {
	recorded claim.Reserved
	present  *resourceapi.ResourceClaim
}

// ask reads the claim of a container from the API server if it is recorded for another pod.
// It holds no mutex: a slow API server keeps no other container from starting.
func (n *Node) ask(ctx context.Context, asking Container) (*answer, error) {
	uids := claim.ClaimsOf(asking.Env)
	if len(uids) != 1 {
		return nil, nil
	}
	recorded, err := n.Records.Get(uids[0])
	if err != nil || recorded == nil || recorded.Pod == asking.Pod {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	present, err := n.Claims.Get(ctx, recorded.Namespace, recorded.Name)
	if err != nil {
		return nil, fmt.Errorf("the API server does not say whom the claim %s is reserved for: %w", recorded, err)
	}
	return &answer{*recorded, present}, nil
}

// claimOf returns the claim of a container, after it was checked that its pod may have it.
func (n *Node) claimOf(asking Container, said *answer) (*claim.Reserved, error) {
	uids := claim.ClaimsOf(asking.Env)
	if len(uids) == 0 {
		return nil, nil
	}
	if len(uids) > 1 {
		return nil, fmt.Errorf("the container %s has %d claims, but one reservation at most: give it one",
			asking.Name, len(uids))
	}
	reserved, err := n.Records.Get(uids[0])
	if err != nil {
		return nil, err
	}
	if reserved == nil {
		return nil, fmt.Errorf("the claim %s of the container %s is not prepared on this node", uids[0],
			asking.Name)
	}
	if reserved.Pod == asking.Pod {
		return reserved, nil
	}
	// The API server was asked about another record: what it said may be older than this one.
	if said == nil || !reserved.Equal(said.recorded) {
		return nil, fmt.Errorf("the claim %s was prepared anew while the container %s asked for it: the "+
			"kubelet tries again", reserved, asking.Name)
	}
	return n.handOver(*reserved, asking, said.present)
}

// handOver gives a claim to the next pod that it is reserved for, in the place where it is
// allocated now: the kubelet does not prepare it anew if that pod came while the last one
// was ending. Where that is another place, the container that asks is refused, as CDI has told
// it of the earlier one; the kubelet makes another.
func (n *Node) handOver(reserved claim.Reserved, asking Container, present *resourceapi.ResourceClaim) (
	*claim.Reserved, error) {
	if present == nil || string(present.UID) != reserved.UID {
		return nil, fmt.Errorf("the claim %s has gone", reserved)
	}
	owner, err := claim.Owner(present, "")
	if err != nil {
		return nil, err
	}
	if owner != asking.Pod {
		return nil, fmt.Errorf("the claim %s is not reserved for the pod of the container %s", reserved, asking.Name)
	}
	wanted, err := claim.Read(present, n.Pool)
	if err != nil {
		return nil, err
	}
	wanted.Pod = owner
	// Before it is recorded: what the last pod's container holds, it keeps until its end.
	if err := n.checkAlone(asking, &wanted); err != nil {
		return nil, err
	}
	if reserved.SameAs(wanted) {
		return &wanted, n.Records.Write(wanted)
	}
	records, err := n.Records.All()
	if err != nil {
		return nil, err
	}
	if err := n.checkRoom(wanted, records); err != nil {
		return nil, err
	}
	if err := n.Records.Write(wanted); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("the claim %s has been allocated anew since the container %s was described: the "+
		"kubelet tries again", reserved, asking.Name)
}
