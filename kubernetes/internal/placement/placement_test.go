// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"slices"
	"testing"

	"nova-rt/kubernetes/internal/placement"
)

func TestOrderOfPCPUs(t *testing.T) {
	left := map[int]int64{0: 50, 1: 90, 2: 20, 3: 90, 7: 20}
	for policy, want := range map[string][]int{
		"worst-fit": {1, 3, 0, 2, 7},
		"best-fit":  {2, 7, 0, 1, 3},
		"first-fit": {0, 1, 2, 3, 7},
	} {
		if got := placement.Order(policy, left); !slices.Equal(got, want) {
			t.Errorf("%s takes %v, not %v", policy, got, want)
		}
	}
	if !slices.Equal(placement.Names(), []string{"best-fit", "first-fit", "worst-fit"}) {
		t.Error(placement.Names())
	}
}
