// SPDX-License-Identifier: Apache-2.0

package cgroup_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/fakekernel"
)

func TestSurplusAboveKeepsNoContainerFromItsBudget(t *testing.T) {
	kernel := fakekernel.New(2, limit)
	h := hierarchy(t, kernel, 2)
	kernel.Mkdir(box)
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{0}, 2)); err != nil {
		t.Fatal(err)
	}
	// It moves to another pCPU, and the kernel keeps what the pod held on the first.
	kernel.Refuse = func(group, _, text string) error {
		if group == pod && strings.HasPrefix(text, "0 ") {
			return &cgroup.RefusalError{Errno: syscall.EBUSY}
		}
		return nil
	}
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{1}, 2)); err != nil {
		t.Error(err)
	}
	held(t, kernel, box, 0, 30_000)
	if err := h.Settle(map[string]bool{box: true}); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("the surplus is not reported: %v", err)
	}
	kernel.Refuse = nil
	if err := h.Settle(map[string]bool{box: true}); err != nil {
		t.Error(err)
	}
	held(t, kernel, top, 0, 4*314_572)
}

func TestBudgetThatIsWrittenInPartIsTakenBack(t *testing.T) {
	kernel := fakekernel.New(1, limit)
	h := hierarchy(t, kernel, 1)
	kernel.Mkdir(box)
	refused := &cgroup.RefusalError{Errno: syscall.ENOMEM, Sentence: "no memory"}
	h.Dialect = halfway{h.Dialect, refused}
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{0}, 1)); !errors.Is(err, syscall.ENOMEM) {
		t.Fatal(err)
	}
	held(t, kernel, box, 0)
	held(t, kernel, top, 0)
}

// halfway writes a container's budget and reports a failure all the same, as of a second
// write.
type halfway struct {
	cgroup.Dialect
	err error
}

func (h halfway) Write(group string, wanted cgroup.Budget) error {
	err := h.Dialect.Write(group, wanted)
	if group == box && wanted.Runtimes[0] > 0 {
		return errors.Join(h.err, err)
	}
	return err
}
