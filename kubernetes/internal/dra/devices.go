// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/utils/ptr"

	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/placement"
	"nova-rt/kubernetes/internal/topology"
)

// Values of the attribute "occupies", by which the device classes tell nodes apart.
const (
	chosen = "chosen"
	every  = "every"
)

// Devices describes a node's devices for the scheduler.
type Devices struct {
	PCPUs    []topology.PCPU
	Capacity map[int]int64
	Policy   string
	// Every is whether a reservation occupies every pCPU.
	Every bool
}

// Pool returns the devices in the order in which the scheduler is to take them.
//
// Capacities are whole: the scheduler subtracts what claims consume. So a slice that is
// not fresh may have a worse order, but never too much room.
func (d Devices) Pool(left map[int]int64) resourceslice.Pool {
	devices := d.ordered(left)
	if len(devices) == 0 {
		// An empty slice says that the driver runs and has nothing.
		return resourceslice.Pool{Slices: []resourceslice.Slice{{}}}
	}
	var pool resourceslice.Pool
	for part := range slices.Chunk(devices, resourceapi.ResourceSliceMaxDevices) {
		pool.Slices = append(pool.Slices, resourceslice.Slice{Devices: part})
	}
	return pool
}

func (d Devices) ordered(left map[int]int64) []resourceapi.Device {
	if len(left) == 0 {
		return nil
	}
	if d.Every {
		return []resourceapi.Device{d.whole()}
	}
	byIndex := map[int]topology.PCPU{}
	for _, pcpu := range d.PCPUs {
		byIndex[pcpu.Index] = pcpu
	}
	var devices []resourceapi.Device
	for _, index := range placement.Order(d.Policy, left) {
		device := device(claim.Device(index), d.Capacity[index], chosen)
		device.Attributes[claim.Attribute] = resourceapi.DeviceAttribute{IntValue: ptr.To(int64(index))}
		device.Attributes["numaNode"] = resourceapi.DeviceAttribute{
			IntValue: ptr.To(int64(byIndex[index].NUMANode))}
		devices = append(devices, device)
	}
	return devices
}

// whole returns the one device of a node where a reservation takes its bandwidth from
// every pCPU, so that what one has left is what all have left.
func (d Devices) whole() resourceapi.Device {
	least := int64(-1)
	for _, capacity := range d.Capacity {
		if least < 0 || capacity < least {
			least = capacity
		}
	}
	return device(claim.EveryDevice, least, every)
}

func device(name string, capacity int64, occupies string) resourceapi.Device {
	return resourceapi.Device{
		Name:                     name,
		AllowMultipleAllocations: ptr.To(true),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"occupies": {StringValue: ptr.To(occupies)},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			claim.Capacity: {Value: *resource.NewQuantity(capacity, resource.DecimalSI)},
		},
	}
}
