// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"

	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/node"
)

// reallocate gives a claim to another pod on another pCPU, as the scheduler does with one
// whose pod was deleted by force.
func reallocate(c *resourceapi.ResourceClaim, pod, pool string, pcpu int) {
	c.Status.Allocation.Devices.Results[0].Pool = pool
	c.Status.Allocation.Devices.Results[0].Device = claim.Device(pcpu)
	c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{consumer(pod)}
}

// used returns a claim of 60% on pCPU 0 whose container runs.
func (r *rig) used(name, id string) (*resourceapi.ResourceClaim, node.Container) {
	r.Helper()
	c := r.allocated(name, 60_000, 100_000, 0)
	r.prepare(c)
	box := r.container(c, id)
	if err := r.run(box); err != nil {
		r.Fatal(err)
	}
	return c, box
}

func TestClaimIsHandedOverWhereItIsAllocatedNow(t *testing.T) {
	r := newRig(t, 2)
	c, first := r.used("a", "c1")
	r.end(first)
	reallocate(c, "pod-next", "n1", 1)
	// CDI has told it of pCPU 0, and its gate would keep it from running on pCPU 1.
	refused(t, r.run(r.container(c, "c2")), "the claim default/a has been allocated anew")
	second := r.container(c, "c3")
	if err := r.run(second); err != nil {
		t.Fatal(err)
	}
	r.held(second.Group, 0, 60_000)
	r.prepare(r.allocated("b", 60_000, 100_000, 0)) // the scheduler has room for it there
	left, _ := r.Left()
	if left[0] != limit-629_145 || left[1] != limit-629_145 {
		t.Error(left)
	}
}

func TestClaimIsNotHandedOverWithoutRoomWhereItIsAllocatedNow(t *testing.T) {
	r := newRig(t, 2)
	c, first := r.used("a", "c1")
	r.end(first)
	r.prepare(r.allocated("b", 60_000, 100_000, 1))
	reallocate(c, "pod-next", "n1", 1)
	refused(t, r.run(r.container(c, "c2")), "60% is needed on pCPU 1, which has 30% left")
}

func TestClaimIsNotHandedOverOnceItIsAllocatedOnAnotherNode(t *testing.T) {
	r := newRig(t, 2)
	c, first := r.used("a", "c1")
	r.end(first)
	reallocate(c, "pod-next", "n2", 0)
	refused(t, r.run(r.container(c, "c2")), "has the device pcpu-0 of the pool n2, which is not on this node")
}

func TestContainerThatStillRunsIsCountedWhereItRuns(t *testing.T) {
	r := newRig(t, 2)
	c, _ := r.used("a", "c1")
	reallocate(c, "pod-next", "n1", 1)
	r.prepare(c)
	left, _ := r.Left()
	if left[0] != limit-629_145 || left[1] != limit-629_145 {
		t.Error(left)
	}
}

// slowClaims is an API server that does not answer until it is told to, unless whoever
// asks gives up.
type slowClaims struct {
	claims
	asked, answer chan struct{}
}

func (s slowClaims) Get(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	s.asked <- struct{}{}
	select {
	case <-s.answer:
		return s.claims.Get(ctx, namespace, name)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// passedOn returns a claim of 30% on pCPU 0 and a container of the next pod that has it.
func (r *rig) passedOn(name, id string) (*resourceapi.ResourceClaim, node.Container) {
	r.Helper()
	c := r.allocated(name, 30_000, 100_000, 0)
	r.prepare(c)
	next := r.container(c, id)
	next.Pod = "pod-next"
	return c, next
}

// admitted asks whether a container is admitted, and returns where the answer comes.
func (r *rig) admitted(asking node.Container) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := r.Admit(context.Background(), asking)
		ended <- err
	}()
	return ended
}

func TestSlowAPIServerDelaysNoOtherContainer(t *testing.T) {
	r := newRig(t, 1)
	slow := slowClaims{r.api, make(chan struct{}), make(chan struct{})}
	r.config.Claims = slow
	r.start()
	_, next := r.passedOn("a", "c1")
	b := r.allocated("b", 30_000, 100_000, 0)
	r.prepare(b)
	ended := r.admitted(next)
	<-slow.asked
	if err := r.run(r.container(b, "c2")); err != nil {
		t.Fatal(err)
	}
	refused(t, <-ended, "the API server does not say whom the claim default/a is reserved for")
}

func TestAPIServerIsNotWaitedForLongerThanTheRuntimeWaits(t *testing.T) {
	r := newRig(t, 1)
	slow := slowClaims{r.api, make(chan struct{}, 1), nil}
	r.config.Claims = slow
	r.start()
	_, next := r.passedOn("a", "c1")
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	_, err := r.Admit(ctx, next)
	if refused(t, err, "deadline exceeded"); ctx.Err() != nil {
		t.Error("it waited as long as it was let")
	}
}

func TestRecordThatChangesWhileTheAPIServerIsAskedStays(t *testing.T) {
	r := newRig(t, 1)
	slow := slowClaims{r.api, make(chan struct{}), make(chan struct{})}
	r.config.Claims = slow
	r.start()
	a, next := r.passedOn("a", "c1")
	ended := r.admitted(next)
	<-slow.asked
	if err := r.Unprepare(string(a.UID)); err != nil {
		t.Fatal(err)
	}
	close(slow.answer)
	refused(t, <-ended, "is not prepared on this node")
	if record, err := r.config.Records.Get(string(a.UID)); record != nil || err != nil {
		t.Error(record, err)
	}
}
