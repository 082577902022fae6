// SPDX-License-Identifier: Apache-2.0

package tests

import "testing"

// Where time does not depend on the machine outside, a share is exact: 2 x 30% is from 29.9
// to 30.1% of each pCPU, beside a hog of the root group and pods that take what is left.
func TestWorkerSharesAreExactInVirtualTime(t *testing.T) {
	w := newWorker(t, inVirtualTime)
	runPod(t, hogPod("exact-a"), 30_000, 100_000, 2)
	w.gets(w.running("exact-a"), []int{30}, []int{2})

	// The most that is left: 90% of every pCPU can be reserved.
	runPod(t, hogPod("exact-b"), 12_000, 20_000, int64(w.pcpus-2))
	runPod(t, hogPod("exact-c"), 15_000, 50_000, int64(w.pcpus))
	names := []string{"exact-a", "exact-b", "exact-c"}
	w.gets(w.running(names...), []int{30, 60, 30}, []int{2, w.pcpus - 2, w.pcpus})

	for _, name := range names {
		remove(t, name)
	}
	w.wait(w.nothingLeft)
}
