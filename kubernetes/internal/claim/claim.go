// SPDX-License-Identifier: Apache-2.0

// Package claim says what an allocated ResourceClaim reserves on a node.
package claim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"nova-rt/kubernetes/internal/bandwidth"
	"nova-rt/kubernetes/internal/reservation"
)

// Names that the API knows the driver and its devices by.
const (
	Driver = "nova-rt.cpu"
	// Capacity of a device: bandwidth in fixed point.
	Capacity = "bandwidth"
	// Attribute of a device: the number of its pCPU.
	Attribute = "pcpu"
	// EveryDevice stands for all pCPUs, where a reservation occupies every one.
	EveryDevice  = "every-pcpu"
	devicePrefix = "pcpu-"
)

// Reserved is what a claim reserves: a budget on some pCPUs, for one pod.
type Reserved struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Request is the one of the claim that asks for pCPUs.
	Request string `json:"request"`
	// Pod is the UID of the only pod that may use it.
	Pod string `json:"pod"`
	// PCPUs are ascending; none where the reservation occupies every pCPU.
	PCPUs       []int                   `json:"pcpus"`
	Reservation reservation.Reservation `json:"reservation"`
	Init        reservation.Init        `json:"init"`
}

// String names the claim as kubectl does.
func (r Reserved) String() string { return r.Namespace + "/" + r.Name }

// SameAs returns whether two claims are one with the same reservation in the same place.
func (r Reserved) SameAs(other Reserved) bool {
	return r.UID == other.UID && r.Reservation == other.Reservation && r.Init == other.Init &&
		slices.Equal(r.PCPUs, other.PCPUs)
}

// Equal returns whether two claims are the same, for the same pod.
func (r Reserved) Equal(other Reserved) bool { return r.SameAs(other) && r.Pod == other.Pod }

// Device returns the name of a pCPU's device.
func Device(pcpu int) string { return devicePrefix + strconv.Itoa(pcpu) }

// Read returns what a claim reserves on a node: the driver's devices of the node's pool.
//
// It trusts nobody: the scheduler may have allocated from a stale slice, and the cluster
// may lack the admission policy.
func Read(claim *resourceapi.ResourceClaim, pool string) (Reserved, error) {
	reserved := Reserved{UID: string(claim.UID), Namespace: claim.Namespace, Name: claim.Name}
	if claim.Status.Allocation == nil {
		return reserved, fmt.Errorf("the claim %s is not allocated", reserved)
	}
	devices := claim.Status.Allocation.Devices
	results := slices.DeleteFunc(slices.Clone(devices.Results),
		func(result resourceapi.DeviceRequestAllocationResult) bool { return result.Driver != Driver })
	if len(results) == 0 {
		return reserved, fmt.Errorf("the claim %s has no device of %s", reserved, Driver)
	}
	reserved.Request = results[0].Request
	for _, result := range results {
		if err := reserved.add(result, pool); err != nil {
			return reserved, err
		}
	}
	slices.Sort(reserved.PCPUs)
	raw, err := parameters(devices.Config, reserved)
	if err != nil {
		return reserved, err
	}
	reserved.Reservation, reserved.Init, err = reservation.Parse(raw, int64(len(results)))
	if err != nil {
		return reserved, err
	}
	return reserved, reserved.checkConsumed(results)
}

// add takes one allocated device.
func (r *Reserved) add(result resourceapi.DeviceRequestAllocationResult, pool string) error {
	switch {
	case result.Pool != pool:
		return fmt.Errorf("the claim %s has the device %s of the pool %s, which is not on this node",
			r, result.Device, result.Pool)
	case result.Request != r.Request:
		return fmt.Errorf("the claim %s asks for pCPUs in the requests %s and %s: a claim has one "+
			"reservation, so use two claims", r, r.Request, result.Request)
	case result.AdminAccess != nil && *result.AdminAccess:
		return fmt.Errorf("the claim %s asks for admin access, which takes no bandwidth: a "+
			"reservation needs some", r)
	case result.Device == EveryDevice && r.PCPUs == nil:
		r.PCPUs = []int{}
		return nil
	}
	pcpu, err := strconv.Atoi(strings.TrimPrefix(result.Device, devicePrefix))
	if err != nil || pcpu < 0 || Device(pcpu) != result.Device {
		return fmt.Errorf("the claim %s has the device %s, which this node does not have", r, result.Device)
	}
	if slices.Contains(r.PCPUs, pcpu) {
		return fmt.Errorf("the claim %s has pCPU %d twice, but each vCPU needs one of its own: add the "+
			"constraint distinctAttribute: %s/%s", r, pcpu, Driver, Attribute)
	}
	r.PCPUs = append(r.PCPUs, pcpu)
	return nil
}

// parameters returns the opaque parameters for the request.
func parameters(configs []resourceapi.DeviceAllocationConfiguration, reserved Reserved) ([]byte, error) {
	var found []byte
	for _, config := range configs {
		if config.Opaque == nil || config.Opaque.Driver != Driver ||
			config.Source != resourceapi.AllocationConfigSourceClaim {
			continue
		}
		if len(config.Requests) > 0 && !slices.Contains(config.Requests, reserved.Request) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the claim %s has two configurations for the request %s: give one",
				reserved, reserved.Request)
		}
		found = config.Opaque.Parameters.Raw
	}
	if found == nil {
		return nil, fmt.Errorf("the claim %s has no parameters: give %s and %s in an opaque "+
			"configuration for the driver %s", reserved, reservation.Runtime, reservation.Period, Driver)
	}
	return found, nil
}

// checkConsumed wants the scheduler to have counted what the kernel will be told.
func (r *Reserved) checkConsumed(results []resourceapi.DeviceRequestAllocationResult) error {
	for _, result := range results {
		consumed, found := result.ConsumedCapacity[Capacity]
		if !found || consumed.CmpInt64(r.Reservation.Bandwidth()) != 0 {
			return &reservation.InvalidError{Sentence: Mismatch(
				r.Reservation.Runtime, r.Reservation.Period, consumed.String())}
		}
	}
	return nil
}

// Mismatch is the sentence for a bandwidth that is not runtime over period; the admission
// policy has the same.
func Mismatch(runtime, period int64, asked string) string {
	return fmt.Sprintf("The request asks for a bandwidth of %s, but %d µs every %d µs is %d: "+
		"give capacity.requests.bandwidth as (runtime << 20) / period, rounded down.",
		asked, runtime, period, bandwidth.Of(runtime, period))
}

// Owner returns the UID of the one pod that a claim is reserved for; of several, the one
// that has it already.
func Owner(claim *resourceapi.ResourceClaim, present string) (string, error) {
	var pods []string
	for _, consumer := range claim.Status.ReservedFor {
		if consumer.APIGroup == "" && consumer.Resource == "pods" {
			pods = append(pods, string(consumer.UID))
		}
	}
	switch {
	case present != "" && slices.Contains(pods, present):
		return present, nil
	case len(pods) == 1:
		return pods[0], nil
	}
	return "", fmt.Errorf("the claim %s/%s is reserved for %d pods, but a reservation is for one: give "+
		"each pod its own by a ResourceClaimTemplate", claim.Namespace, claim.Name, len(pods))
}
