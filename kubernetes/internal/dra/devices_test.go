// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"testing"

	"nova-rt/kubernetes/internal/topology"
)

func many(count int, policy string, isEvery bool) (Devices, map[int]int64) {
	d := Devices{Capacity: map[int]int64{}, Policy: policy, Every: isEvery}
	left := map[int]int64{}
	for pcpu := range count {
		d.PCPUs = append(d.PCPUs, topology.PCPU{Index: pcpu, NUMANode: pcpu / 128})
		d.Capacity[pcpu] = 900_000 + int64(pcpu)
		left[pcpu] = int64(pcpu)
	}
	return d, left
}

func TestSlicesAreInTheOrderOfThePolicy(t *testing.T) {
	d, left := many(256, "worst-fit", false)
	pool := d.Pool(left)
	if len(pool.Slices) != 2 || len(pool.Slices[0].Devices) != 128 || len(pool.Slices[1].Devices) != 128 {
		t.Fatalf("%d slices", len(pool.Slices))
	}
	first, last := pool.Slices[0].Devices[0], pool.Slices[1].Devices[127]
	if first.Name != "pcpu-255" || last.Name != "pcpu-0" {
		t.Error(first.Name, last.Name)
	}
	// Whole, whatever is left: the scheduler subtracts.
	capacity := first.Capacity["bandwidth"].Value
	if capacity.Value() != 900_255 || *first.Attributes["numaNode"].IntValue != 1 ||
		*first.Attributes["pcpu"].IntValue != 255 || !*first.AllowMultipleAllocations {
		t.Errorf("%+v", first)
	}
}

func TestNodeWithOneRuntimeForAllHasOneDevice(t *testing.T) {
	d, left := many(4, "worst-fit", true)
	devices := d.Pool(left).Slices[0].Devices
	capacity := devices[0].Capacity["bandwidth"].Value
	if len(devices) != 1 || devices[0].Name != "every-pcpu" || capacity.Value() != 900_000 {
		t.Errorf("%+v", devices)
	}
}

func TestNodeWhoseRuntimeDoesNotAnswerOffersNothing(t *testing.T) {
	for _, isEvery := range []bool{false, true} {
		d, _ := many(4, "best-fit", isEvery)
		if pool := d.Pool(nil); len(pool.Slices) != 1 || len(pool.Slices[0].Devices) != 0 {
			t.Errorf("%+v", pool)
		}
	}
}
