// SPDX-License-Identifier: Apache-2.0

package cgroup_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nova-rt/kubernetes/internal/bandwidth"
	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/fakekernel"
)

const (
	top   = "kubepods.slice"
	limit = int64(943719)
	pod   = top + "/kubepods-burstable.slice/kubepods-burstable-pod1.slice"
	box   = pod + "/cri-containerd-1.scope"
)

func hierarchy(t *testing.T, kernel *fakekernel.Kernel, count int) cgroup.Hierarchy {
	t.Helper()
	kernel.Mkdir(top)
	dialect, err := cgroup.Detect(kernel, top, count)
	if err != nil {
		t.Fatal(err)
	}
	h := cgroup.Hierarchy{Files: kernel, Dialect: dialect, Top: top}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return h
}

func held(t *testing.T, kernel *fakekernel.Kernel, group string, want ...int64) {
	t.Helper()
	if got := kernel.Held()[group]; !slices.Equal(got, want) {
		t.Errorf("/%s has %v, not %v", group, got, want)
	}
}

func TestContainerPodAndTopGetTheRuntimesOfChosenPCPUs(t *testing.T) {
	kernel := fakekernel.New(4, limit)
	h := hierarchy(t, kernel, 4)
	held(t, kernel, top, 0, 0, 0, 0)
	kernel.Mkdir(box)
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{1, 3}, 4)); err != nil {
		t.Fatal(err)
	}
	held(t, kernel, box, 0, 30_000, 0, 30_000)
	held(t, kernel, pod, 0, 4*314_572, 0, 4*314_572)
	held(t, kernel, top, 0, 4*314_572, 0, 4*314_572)
}

func TestDeletionLeavesNoRuntime(t *testing.T) {
	kernel := fakekernel.New(2, limit)
	h := hierarchy(t, kernel, 2)
	kernel.Mkdir(box)
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{0}, 2)); err != nil {
		t.Fatal(err)
	}
	kernel.Rmdir(box)
	if err := h.Settle(nil); err != nil {
		t.Fatal(err)
	}
	held(t, kernel, pod, 0, 0)
	held(t, kernel, top, 0, 0)
}

func TestNobodysBudgetIsTakenAndThoseOfContainersStay(t *testing.T) {
	kernel := fakekernel.New(2, limit)
	h := hierarchy(t, kernel, 2)
	other := pod + "/cri-containerd-2.scope"
	for _, group := range []string{box, other} {
		kernel.Mkdir(group)
		if err := h.Apply(group, cgroup.OnPCPUs(30_000, 100_000, []int{0}, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Settle(map[string]bool{box: true}); err != nil {
		t.Fatal(err)
	}
	held(t, kernel, box, 30_000, 0)
	held(t, kernel, other, 0, 0)
	held(t, kernel, top, 4*314_572, 0)
}

func TestStrangersRealTimeTasksKeepTheirBudgetAndAreReported(t *testing.T) {
	kernel := fakekernel.New(1, limit)
	h := hierarchy(t, kernel, 1)
	kernel.Mkdir(box)
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{0}, 1)); err != nil {
		t.Fatal(err)
	}
	kernel.SetRTTasks(box, true)
	if err := h.Settle(nil); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("Settle says %v, not EBUSY", err)
	}
	held(t, kernel, box, 30_000)
	held(t, kernel, top, 4*314_572)
}

func TestRefusedBudgetLeavesEverythingAsItWas(t *testing.T) {
	kernel := fakekernel.New(1, limit)
	h := hierarchy(t, kernel, 1)
	other := top + "/kubepods-pod2.slice/cri-containerd-2.scope"
	kernel.Mkdir(box)
	kernel.Mkdir(other)
	if err := h.Apply(box, cgroup.OnPCPUs(60_000, 100_000, []int{0}, 1)); err != nil {
		t.Fatal(err)
	}
	before := kernel.Held()
	err := h.Apply(other, cgroup.OnPCPUs(60_000, 100_000, []int{0}, 1))
	if !errors.Is(err, syscall.EINVAL) {
		t.Fatalf("120%% of a pCPU: %v", err)
	}
	after := kernel.Held()
	// What had no budget before may have one of 0.
	maps.DeleteFunc(after, func(_ string, runtimes []int64) bool { return slices.Max(runtimes) == 0 })
	maps.DeleteFunc(before, func(_ string, runtimes []int64) bool { return slices.Max(runtimes) == 0 })
	if !maps.EqualFunc(before, after, slices.Equal) {
		t.Errorf("before %v\nafter  %v", before, after)
	}
}

func TestRefusedChangeGivesBackWhatWasHeld(t *testing.T) {
	kernel := fakekernel.New(1, limit)
	h := hierarchy(t, kernel, 1)
	kernel.Mkdir(box)
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{0}, 1)); err != nil {
		t.Fatal(err)
	}
	kernel.Refuse = func(group, _, text string) error {
		if group == box && text == "90000" {
			return &cgroup.RefusalError{Errno: syscall.ENOMEM}
		}
		return nil
	}
	if err := h.Apply(box, cgroup.OnPCPUs(90_000, 200_000, []int{0}, 1)); !errors.Is(err, syscall.ENOMEM) {
		t.Fatal(err)
	}
	if got := mustRead(t, h, box); !got.Equal(cgroup.OnPCPUs(30_000, 100_000, []int{0}, 1)) {
		t.Errorf("the container has %v", got)
	}
	held(t, kernel, top, 4*314_572)
}

func TestPeriodIsChangedUnderTheSmallerRuntime(t *testing.T) {
	kernel := fakekernel.New(1, limit)
	h := hierarchy(t, kernel, 1)
	kernel.Mkdir(box)
	for _, times := range [][2]int64{{30_000, 100_000}, {5_000, 10_000}, {80_000, 100_000}, {100, 400}} {
		if err := h.Apply(box, cgroup.OnPCPUs(times[0], times[1], []int{0}, 1)); err != nil {
			t.Fatalf("%v: %v", times, err)
		}
		held(t, kernel, box, times[0])
	}
}

func TestGroupElsewhereIsRefused(t *testing.T) {
	h := hierarchy(t, fakekernel.New(1, limit), 1)
	err := h.Apply("system.slice/x", cgroup.OnPCPUs(30_000, 100_000, []int{0}, 1))
	if err == nil || !strings.Contains(err.Error(), "is not below /kubepods.slice") {
		t.Error(err)
	}
}

func TestOneRuntimeForAllPCPUs(t *testing.T) {
	kernel := fakekernel.New(4, limit).Every()
	h := hierarchy(t, kernel, 4)
	if !h.Dialect.Every() {
		t.Fatal("the dialect occupies every pCPU")
	}
	kernel.Mkdir(box)
	if err := h.Apply(box, cgroup.OnPCPUs(30_000, 100_000, []int{0, 1, 2, 3}, 4)); err != nil {
		t.Fatal(err)
	}
	held(t, kernel, top, 4*314_572, 4*314_572, 4*314_572, 4*314_572)
}

func TestPCPUThatIsFullToTheLastUnitIsAdmitted(t *testing.T) {
	kernel := fakekernel.New(1, limit)
	h := hierarchy(t, kernel, 1)
	// Odd numbers, which rounding at each level would add to.
	total := int64(0)
	for i, times := range [][2]int64{{3_333, 99_991}, {777, 7_919}, {123_457, 4_000_037}, {1_009, 10_007},
		{21_001, 100_003}, {2, 1_999_993}} {
		group := fmt.Sprintf("%s/pod%d/c", top, i)
		kernel.Mkdir(group)
		if err := h.Apply(group, cgroup.OnPCPUs(times[0], times[1], []int{0}, 1)); err != nil {
			t.Fatal(err)
		}
		total += bandwidth.Of(times[0], times[1])
	}
	last := top + "/last/c"
	kernel.Mkdir(last)
	longest := bandwidth.LongestRuntime(limit-total, bandwidth.MaxPeriod)
	if err := h.Apply(last, cgroup.OnPCPUs(longest, bandwidth.MaxPeriod, []int{0}, 1)); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, h, top).Bandwidths()[0]; got != limit {
		t.Errorf("the top has %d of %d", got, limit)
	}
}

// Containers come, change and go at random, the kernel refuses at random, and a sum over
// the cap is refused: what the top holds is always what the containers hold.
func TestTopHoldsWhatContainersHold(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 1))
	kernel := fakekernel.New(2, limit)
	h := hierarchy(t, kernel, 2)
	groups := map[string]bool{}
	for step := range 3000 {
		kernel.Refuse = nil
		group := top + "/pod" + string(rune('a'+random.IntN(4))) + "/c" + string(rune('a'+random.IntN(2)))
		switch random.IntN(4) {
		case 0:
			kernel.Rmdir(group)
			delete(groups, group)
		case 1:
			kernel.Refuse = func(_, _, _ string) error {
				if random.IntN(4) == 0 {
					return &cgroup.RefusalError{Errno: syscall.ENOMEM}
				}
				return nil
			}
			fallthrough
		default:
			kernel.Mkdir(group)
			period := int64(1000 * (1 + random.IntN(100)))
			runtime := max(2, period*int64(random.IntN(60))/100)
			if h.Apply(group, cgroup.OnPCPUs(runtime, period, []int{random.IntN(2)}, 2)) == nil {
				groups[group] = true
			}
		}
		kernel.Refuse = nil
		if err := h.Settle(groups); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		total := []int64{0, 0}
		for group := range groups {
			for pcpu, bw := range mustRead(t, h, group).Bandwidths() {
				total[pcpu] += bw
			}
		}
		for pcpu, bw := range mustRead(t, h, top).Bandwidths() {
			if bw != total[pcpu] {
				t.Fatalf("step %d: the top has %d on pCPU %d, the containers %d", step, bw, pcpu, total[pcpu])
			}
		}
	}
}

func mustRead(t *testing.T, h cgroup.Hierarchy, group string) cgroup.Budget {
	t.Helper()
	budget, err := h.Dialect.Read(group)
	if err != nil {
		t.Fatal(err)
	}
	return budget
}
