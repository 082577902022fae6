// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"testing"

	"nova-rt/kubernetes/internal/reservation"
)

func TestPolicyThatAContainerHasChosenStays(t *testing.T) {
	r := newRig(t, 1)
	_, box := r.used("a", "c1")
	own := reservation.Init{Policy: "rr", Priority: 3}
	r.threads[box.Group] = own
	r.start(box)
	if err := r.Reconcile(); err != nil || r.threads[box.Group] != own {
		t.Error(r.threads, err)
	}
	// SCHED_OTHER, too.
	delete(r.threads, box.Group)
	r.start(box)
	if err := r.Reconcile(); err != nil || len(r.threads) > 0 {
		t.Error(r.threads, err)
	}
}

func TestContainerWithoutItsPolicyIsNotStarted(t *testing.T) {
	r := newRig(t, 1)
	r.config.Threads = refusing{r.threads}
	r.start()
	c := r.allocated("a", 30_000, 100_000, 0)
	r.prepare(c)
	refused(t, r.run(r.container(c, "c1")), "no SCHED_FIFO")
}

// refusing is a kernel that lets nobody set a policy.
type refusing struct{ threads }

func (refusing) SetPolicy(string, reservation.Init) error { return errors.New("no SCHED_FIFO") }
