// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

func TestClaimThatIsAllocatedElsewhereIsForgotten(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	reallocate(c, "pod-next", "n2", 0)
	if err := r.CollectGarbage(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.prepare(r.allocated("b", 60_000, 100_000, 0))
}

// answering has the API server answer, and then something happen.
type answering struct {
	claims
	then func()
}

func (a answering) Get(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	found, err := a.claims.Get(ctx, namespace, name)
	a.then()
	return found, err
}

func TestClaimThatIsPreparedAnewWhileItIsJudgedStays(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	delete(r.api, "default/a")
	r.config.Claims = answering{r.api, func() {
		c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{consumer("pod-next")}
		r.prepare(c)
	}}
	r.start()
	if err := r.CollectGarbage(context.Background()); err != nil {
		t.Fatal(err)
	}
	record, err := r.config.Records.Get(string(c.UID))
	if err != nil || record == nil || record.Pod != "pod-next" {
		t.Error(record, err)
	}
}

func TestHalfARecordIsNotTakenFromWhoeverWritesIt(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 10_000, 100_000, 0)
	ctx, stop := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			if err := r.CollectGarbage(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		r.prepare(c)
	}
	stop()
	wait.Wait()
}
