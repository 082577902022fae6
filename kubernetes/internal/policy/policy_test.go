// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNamesAndNumbersAreTheSamePolicies(t *testing.T) {
	if names := Names(); !slices.Equal(names, []string{"fifo", "rr"}) {
		t.Error(names)
	}
	for _, name := range Names() {
		if number, known := Number(name); !known || Name(number) != name {
			t.Errorf("%s is %d, which is %s", name, number, Name(number))
		}
	}
	if number, known := Number("fifo"); !known || number != unix.SCHED_FIFO {
		t.Errorf("fifo is %d", number)
	}
}

func TestWhatNoClaimMaySayIsNoPolicy(t *testing.T) {
	if number, known := Number("other"); known {
		t.Error(number)
	}
	for _, number := range []uint32{unix.SCHED_NORMAL, unix.SCHED_DEADLINE} {
		if name := Name(number); name != "" {
			t.Error(name)
		}
	}
}
