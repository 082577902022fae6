// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"testing"

	"nova-rt/kubernetes/internal/reservation"
)

func TestContainerThatStartedWithoutTheDriverIsGivenItsPolicy(t *testing.T) {
	r := newRig(t, 1)
	box := r.missed("a", "c1")
	r.start(box)
	if err := r.Reconcile(); err != nil {
		t.Fatal(err)
	}
	r.held(box.Group, 30_000)
	if r.threads[box.Group] != (reservation.Init{Policy: "fifo", Priority: 7}) {
		t.Error(r.threads)
	}
	// What it chooses itself afterwards is its own business.
	delete(r.threads, box.Group)
	if err := r.Reconcile(); err != nil || len(r.threads) > 0 {
		t.Error(r.threads, err)
	}
}

func TestPolicyThatAContainerHasChosenStays(t *testing.T) {
	r := newRig(t, 1)
	_, box := r.used("a", "c1")
	own := reservation.Init{Policy: "rr", Priority: 3}
	r.threads[box.Group] = own
	for range 2 {
		if err := r.Reconcile(); err != nil || r.threads[box.Group] != own {
			t.Error(r.threads, err)
		}
		r.start(box)
	}
}

func TestPolicyThatCannotBeSetIsReportedUntilItIs(t *testing.T) {
	r := newRig(t, 1)
	box := r.missed("a", "c1")
	r.config.Threads = refusing{r.threads}
	r.start(box)
	for range 2 {
		refused(t, r.Reconcile(), "no SCHED_FIFO")
	}
}

// refusing is a kernel that lets nobody set a policy.
type refusing struct{ threads }

func (refusing) SetPolicy(string, reservation.Init) error { return errors.New("no SCHED_FIFO") }
