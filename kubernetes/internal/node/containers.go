// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/claim"
)

// Container is one of the runtime's.
type Container struct {
	ID, Name string
	// Pod is the UID of its pod.
	Pod string
	Env []string
	// Group is its control group.
	Group string
	// Running is whether it has been started and has not ended.
	Running bool
}

// Admit returns the claim that a container is created with, nil without one, and refuses
// a container that could not be given its reservation.
func (n *Node) Admit(ctx context.Context, created Container) (*claim.Reserved, error) {
	said, err := n.ask(ctx, created)
	if err != nil {
		return nil, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	reserved, err := n.claimOf(created, said)
	if err != nil || reserved == nil {
		return nil, err
	}
	return reserved, n.checkAlone(created, reserved)
}

// Start gives a container its reservation. The runtime has made its group and has not
// started its program: what is there is the runtime's own process that waits to become it.
func (n *Node) Start(ctx context.Context, started Container) error {
	said, err := n.ask(ctx, started)
	if err != nil {
		return err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	reserved, err := n.claimOf(started, said)
	if err != nil || reserved == nil {
		return err
	}
	if err := n.checkAlone(started, reserved); err != nil {
		return err
	}
	if err := n.retire(started, reserved.UID); err != nil {
		return err
	}
	if err := n.apply(started.Group, n.budget(*reserved)); err != nil {
		return err
	}
	// Known before it has its policy, so that its budget is not taken for nobody's.
	n.remember(started, reserved.UID)
	if err := n.confine(started.Group, *reserved); err != nil {
		return err
	}
	if reserved.Init.Policy == "" {
		return nil
	}
	return n.Threads.SetPolicy(started.Group, reserved.Init)
}

// confine lets the container's threads run on all of its pCPUs. Their control group keeps them
// from others, but a runtime that is confined itself may have passed less on to them.
func (n *Node) confine(group string, reserved claim.Reserved) error {
	if len(reserved.PCPUs) == 0 {
		return nil
	}
	return n.Threads.Confine(group, reserved.PCPUs)
}

// apply gives a container's group its budget. What ended containers have left in the groups
// above is taken back if the kernel wants it, not at the next Reconcile: the scheduler has
// promised it to this one.
func (n *Node) apply(group string, wanted cgroup.Budget) error {
	err := n.Hierarchy.Apply(group, wanted)
	var refusal *cgroup.RefusalError
	if !errors.As(err, &refusal) || !n.synchronized {
		return err
	}
	groups := n.live()
	groups[group] = true
	// Where a budget cannot be taken back, the kernel's answer is the same again.
	_ = n.Hierarchy.Settle(groups)
	return n.Hierarchy.Apply(group, wanted)
}

// Stopped takes back the runtime of containers that have ended. The runtime may say that
// one has while its processes still end: it counts as long as it has its group. What the
// kernel does not give back yet is left to the next Reconcile.
func (n *Node) Stopped() error {
	return n.Reconcile()
}

// Removed forgets a container that the runtime has removed, whatever is left of its group.
func (n *Node) Removed(id string) error {
	n.mutex.Lock()
	delete(n.containers, id)
	n.mutex.Unlock()
	return n.Reconcile()
}

// Synchronize takes the runtime's word for which containers there are: after a start of
// this process or of the runtime.
func (n *Node) Synchronize(all []Container) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.containers = map[string]container{}
	for _, found := range all {
		uids := claim.ClaimsOf(found.Env)
		if len(uids) == 1 && found.Running {
			n.remember(found, uids[0])
		}
	}
	n.synchronized, n.known = true, true
}

// Places returns by their id the pCPUs of containers that run and have some by their claims.
func (n *Node) Places() (map[string][]int, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	records, err := n.Records.All()
	if err != nil {
		return nil, err
	}
	places := map[string][]int{}
	for id, running := range n.containers {
		reserved := records[running.claim]
		if reserved.Pod == running.pod && len(reserved.PCPUs) > 0 {
			places[id] = reserved.PCPUs
		}
	}
	return places, nil
}

// Lost says that the runtime tells nothing any more.
func (n *Node) Lost() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.synchronized = false
}

func (n *Node) remember(found Container, uid string) {
	n.containers[found.ID] = container{id: found.ID, pod: found.Pod, name: found.Name, claim: uid, group: found.Group}
}

// checkAlone wants no other container to have the claim: one budget cannot be in two
// groups.
func (n *Node) checkAlone(asking Container, reserved *claim.Reserved) error {
	for _, other := range n.containers {
		if (other.pod != asking.Pod || other.name != asking.Name) && n.uses(other, *reserved) {
			return fmt.Errorf("the claim %s is used by the container %s already: give the container %s a "+
				"claim of its own", reserved, other.name, asking.Name)
		}
	}
	return nil
}

// uses returns whether a container has a claim. One of another pod that started while this
// process was down may only name it in its environment: it has the claim if it has a budget.
func (n *Node) uses(running container, reserved claim.Reserved) bool {
	if running.claim != reserved.UID || !n.Hierarchy.Files.Has(running.group, "") {
		return false
	}
	if running.pod == reserved.Pod {
		return true
	}
	held, err := n.Hierarchy.Dialect.Read(running.group)
	if err != nil {
		return !errors.Is(err, cgroup.ErrGone)
	}
	return slices.Max(held.Runtimes) > 0
}

// retire takes the budget of the container's predecessors in the same pod, which have
// ended though the runtime may not have said so yet.
func (n *Node) retire(successor Container, uid string) error {
	for id, old := range n.containers {
		if old.claim != uid || id == successor.ID {
			continue
		}
		delete(n.containers, id)
		if n.Hierarchy.Files.Has(old.group, "") {
			if err := n.Hierarchy.Empty(old.group); err != nil {
				n.containers[id] = old
				return errors.Join(fmt.Errorf("the container %s runs still, and its successor must wait",
					old.name), err)
			}
		}
	}
	return nil
}
