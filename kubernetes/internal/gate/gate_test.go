// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nova-rt/kubernetes/internal/cgroup"
)

var (
	promise = Promise{Runtime: 30_000, Period: 100_000, PCPUs: []int{0, 2}, Policy: "fifo", Priority: 10}
	kept    = Has{Budget: cgroup.Budget{Period: 100_000, Runtimes: []int64{30_000, 0, 30_000, 0}},
		PCPUs: []int{0, 2}, Policy: "fifo", Priority: 10, MaxPriority: 99}
)

func TestArgumentsSayAll(t *testing.T) {
	for _, p := range []Promise{promise, {Runtime: 1, Period: 2}, {Runtime: 1, Period: 2, PCPUs: []int{7}}} {
		if got, err := Parse(p.Arguments()); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%v: %v, %v", p.Arguments(), got, err)
		}
	}
	if _, err := Parse([]string{"--budget=1"}); err == nil {
		t.Error("an argument that means nothing is taken")
	}
}

func TestContainerWithWhatItsClaimReservesStarts(t *testing.T) {
	if err := promise.Check(kept); err != nil {
		t.Error(err)
	}
	// What is not promised does not matter.
	other := kept
	other.Policy, other.Priority = "rr", 99
	free := Promise{Runtime: 30_000, Period: 100_000, PCPUs: []int{0, 2}}
	if err := free.Check(other); err != nil {
		t.Error(err)
	}
	every := Promise{Runtime: 30_000, Period: 100_000}
	other.Budget.Runtimes = []int64{30_000, 30_000}
	if err := every.Check(other); err != nil {
		t.Error(err)
	}
}

func TestContainerThatLacksAnythingDoesNotStart(t *testing.T) {
	for lacks, change := range map[string]func(*Has){
		"30000 µs every 100000 µs, as it has no budget": func(h *Has) {
			h.Budget.Runtimes = []int64{0, 0, 0, 0}
		},
		"30000 µs every 100000 µs, as it has too little on one": func(h *Has) {
			h.Budget.Runtimes = []int64{30_000, 0, 29_999, 0}
		},
		"30000 µs every 100000 µs, as it has another's": func(h *Has) {
			h.Budget.Runtimes = []int64{30_000, 30_000, 0, 0}
		},
		"30000 µs every 100000 µs, as it has more than that": func(h *Has) {
			h.Budget.Runtimes = []int64{30_000, 1, 30_000, 0}
		},
		"30000 µs every 100000 µs, as its period is longer": func(h *Has) { h.Budget.Period = 200_000 },
		"30000 µs every 100000 µs, as a pCPU has gone":      func(h *Has) { h.Budget.Runtimes = []int64{30_000, 0} },
		"30000 µs every 100000 µs, as nothing is known":     func(h *Has) { h.Budget.Runtimes = nil },
		"the pCPUs 0,2, as it may run elsewhere":            func(h *Has) { h.PCPUs = []int{0, 1, 2, 3} },
		"SCHED_FIFO 10, as it is not real-time":             func(h *Has) { h.Policy, h.Priority = "", 0 },
		"SCHED_FIFO 10, as its priority is lower":           func(h *Has) { h.Priority = 9 },
	} {
		has := kept
		change(&has)
		err := promise.Check(has)
		what, _, _ := strings.Cut(lacks, ", as ")
		if err == nil || !strings.Contains(err.Error(), "has not got "+what+" of its claim") {
			t.Errorf("%s: %v", lacks, err)
		}
	}
	if err := (Promise{Runtime: 30_000, Period: 100_000}).Check(Has{Budget: cgroup.Budget{
		Period: 100_000, Runtimes: []int64{30_000, 0}}}); err == nil {
		t.Error("a reservation of every pCPU is kept by one")
	}
}

func TestOwnGroup(t *testing.T) {
	for text, want := range map[string]string{
		"0::/\n":              "",
		"0::/kubepods/pod1\n": "kubepods/pod1",
		"2:cpu:/a\n0::/b\n":   "b",
	} {
		file := filepath.Join(t.TempDir(), "cgroup")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ownGroup(file); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := ownGroup("/proc/version"); err == nil {
		t.Error("a group is found where there is none")
	}
}
