// SPDX-License-Identifier: Apache-2.0

// Package placement has the placement policies of nova_rt/fitting.py as orders.
//
// The scheduler takes the first devices that fit, in the order of the ResourceSlice. With
// the pCPUs in the right order that is worst-fit, best-fit or first-fit, as exact as the
// slice is fresh. The order is a preference only: what fits is decided by capacities.
package placement

import (
	"cmp"
	"maps"
	"slices"
)

// Default is worst-fit, as Nova's.
const Default = "worst-fit"

// Policies compare two pCPUs by what they have left; equal ones stay in their order.
var policies = map[string]func(a, b int64) int{
	// The most left comes first.
	"worst-fit": func(a, b int64) int { return cmp.Compare(b, a) },
	// The least left comes first; the scheduler passes over those where it is too little.
	"best-fit":  func(a, b int64) int { return cmp.Compare(a, b) },
	"first-fit": func(int64, int64) int { return 0 },
}

// Names returns the policies.
func Names() []string {
	return slices.Sorted(maps.Keys(policies))
}

// Order returns pCPUs in the order in which a policy takes them, the lower index first at
// a tie.
func Order(policy string, left map[int]int64) []int {
	order := slices.Sorted(maps.Keys(left))
	slices.SortStableFunc(order, func(a, b int) int {
		return policies[policy](left[a], left[b])
	})
	return order
}
