// SPDX-License-Identifier: Apache-2.0

// Package node keeps the promises of claims on one node: it records what is prepared,
// and makes the kernel hold it for the containers that run.
//
// Nothing is kept beside what it is derived from: the CDI files of prepared claims, the
// containers that the runtime has, and the budgets in the kernel.
package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	resourceapi "k8s.io/api/resource/v1"

	"nova-rt/kubernetes/internal/bandwidth"
	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/reservation"
)

// Claims reads claims from the API server. A claim that is not there is nil.
type Claims interface {
	Get(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error)
}

// Threads sets where and how all threads of a group run.
type Threads interface {
	Confine(group string, pcpus []int) error
	SetPolicy(group string, init reservation.Init) error
}

// Without the runtime's word, a container would be started without its reservation.
var errNotSynchronized = errors.New("the container runtime has not said yet which containers run: it " +
	"must have the Node Resource Interface (NRI) turned on")

// Config is what a node is made of.
type Config struct {
	// Pool is the name of its pool of devices.
	Pool string
	// Capacity is by pCPU the largest bandwidth admitted.
	Capacity map[int]int64
	// Count is how many pCPUs the kernel's files have.
	Count     int
	Hierarchy cgroup.Hierarchy
	Records   claim.Records
	Claims    Claims
	Threads   Threads
}

// Node is safe for several goroutines.
type Node struct {
	Config
	mutex sync.Mutex
	// Containers that have been started, by their id; without its group, one has ended.
	containers map[string]container
	// Whether all containers that the runtime has are known, and whether they ever were.
	synchronized, known bool
}

// container is one that has a claim.
type container struct {
	id, pod, name string
	claim         string
	group         string
}

// New returns a node whose containers are not known yet.
func New(config Config) *Node {
	return &Node{Config: config, containers: map[string]container{}}
}

// Prepare records a claim, if there is room for it. It may be called again.
func (n *Node) Prepare(allocated *resourceapi.ResourceClaim) (claim.Reserved, error) {
	wanted, err := claim.Read(allocated, n.Pool)
	if err != nil {
		return wanted, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.synchronized {
		return wanted, errNotSynchronized
	}
	records, err := n.Records.All()
	if err != nil {
		return wanted, err
	}
	present := records[wanted.UID]
	wanted.Pod, err = claim.Owner(allocated, present.Pod)
	if err != nil {
		return wanted, err
	}
	// What was promised stays promised, though the node may have shrunk since.
	if !present.SameAs(wanted) {
		if err := n.checkRoom(wanted, records); err != nil {
			return wanted, err
		}
	}
	return wanted, n.Records.Write(wanted)
}

// checkRoom is the last line of defence against two schedulers, a stale slice, and a node
// that has shrunk.
func (n *Node) checkRoom(wanted claim.Reserved, records map[string]claim.Reserved) error {
	if (wanted.PCPUs != nil && len(wanted.PCPUs) == 0) != n.Hierarchy.Dialect.Every() {
		return fmt.Errorf("the claim %s has a device of another kind than this node has now: delete the "+
			"pod to have it placed anew", wanted)
	}
	others := maps.Clone(records)
	delete(others, wanted.UID)
	left := n.left(others, wanted.UID)
	needed := wanted.Reservation.Bandwidth()
	for _, pcpu := range n.occupied(wanted) {
		most, known := n.Capacity[pcpu]
		if !known {
			return fmt.Errorf("the pCPU %d of the claim %s holds no reservations on this node any more: "+
				"delete the pod to have it placed elsewhere", pcpu, wanted)
		}
		if err := wanted.Reservation.CheckCap(most); err != nil {
			return err
		}
		if left[pcpu] < needed {
			return fmt.Errorf("%s is needed on pCPU %d, which has %s left: other claims have taken it, so "+
				"delete the pod to have it placed anew", bandwidth.Percent(needed), pcpu,
				bandwidth.Percent(max(0, left[pcpu])))
		}
	}
	return nil
}

// Unprepare forgets a claim. It may be called again, and for one that was never prepared.
func (n *Node) Unprepare(uid string) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.Records.Remove(uid)
}

// Left returns by pCPU the bandwidth that further claims may have: none before the runtime
// has answered for the first time, as without it nothing could be prepared.
func (n *Node) Left() (map[int]int64, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.known {
		return nil, nil
	}
	records, err := n.Records.All()
	if err != nil {
		return nil, err
	}
	return n.left(records, ""), nil
}

// left counts the claims that are recorded, and what the kernel still holds for containers
// elsewhere than their claims are recorded, if at all; one claim is left out.
func (n *Node) left(records map[string]claim.Reserved, except string) map[int]int64 {
	left := maps.Clone(n.Capacity)
	for _, held := range records {
		for _, pcpu := range n.occupied(held) {
			left[pcpu] -= held.Reservation.Bandwidth()
		}
	}
	for _, running := range n.containers {
		reserved, recorded := records[running.claim]
		if running.claim == except || recorded && reserved.Pod == running.pod {
			continue
		}
		budget, err := n.Hierarchy.Dialect.Read(running.group)
		if err != nil {
			continue
		}
		for pcpu, held := range budget.Bandwidths() {
			if !recorded || !slices.Contains(n.occupied(reserved), pcpu) {
				left[pcpu] -= held
			}
		}
	}
	// A pCPU that holds no reservations any more is nobody's to have.
	maps.DeleteFunc(left, func(pcpu int, _ int64) bool {
		_, known := n.Capacity[pcpu]
		return !known
	})
	return left
}

// occupied returns the pCPUs that a claim takes bandwidth from.
func (n *Node) occupied(reserved claim.Reserved) []int {
	if len(reserved.PCPUs) > 0 {
		return reserved.PCPUs
	}
	return slices.Sorted(maps.Keys(n.Capacity))
}

// budget returns what the kernel is to hold for a claim's container.
func (n *Node) budget(reserved claim.Reserved) cgroup.Budget {
	return cgroup.OnPCPUs(reserved.Reservation.Runtime, reserved.Reservation.Period, reserved.PCPUs, n.Count)
}

// Reconcile makes the kernel hold what is recorded for containers that run, and nothing
// for others. What the kernel does not take yet is tried again the next time.
func (n *Node) Reconcile() error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.synchronized {
		return errNotSynchronized
	}
	groups := n.live()
	var problems []error
	for _, running := range n.containers {
		problems = append(problems, n.heal(running))
	}
	return errors.Join(append(problems, n.Hierarchy.Settle(groups))...)
}

// live returns the groups of containers, and forgets those that have none any more.
func (n *Node) live() map[string]bool {
	groups := map[string]bool{}
	for id, running := range n.containers {
		if n.Hierarchy.Files.Has(running.group, "") {
			groups[running.group] = true
		} else {
			delete(n.containers, id)
		}
	}
	return groups
}

// heal gives a container its budget back. Its gate has seen it there before the program ran,
// so somebody else has written the group since: an administrator, or another program of the
// node. The policy is left alone: what the program chooses is its own business.
func (n *Node) heal(running container) error {
	reserved, err := n.Records.Get(running.claim)
	if err != nil || reserved == nil || reserved.Pod != running.pod {
		return err
	}
	wanted := n.budget(*reserved)
	if n.Hierarchy.Holds(running.group, wanted) {
		return nil
	}
	// Nor does it get a budget by naming its pod's claim, which another container has.
	if err := n.checkAlone(Container{Pod: running.pod, Name: running.name}, reserved); err != nil {
		return err
	}
	return n.Hierarchy.Apply(running.group, wanted)
}
