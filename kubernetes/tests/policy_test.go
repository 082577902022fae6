// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"nova-rt/kubernetes/internal/testdata"
)

const refusal = "denied request: "

// check has the real API server judge a claim and a template of it.
func check(t *testing.T, what string, made *resourceapi.ResourceClaim, sentence string) {
	t.Helper()
	ctx, dry := context.Background(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := cluster.client.ResourceV1().ResourceClaims(namespace).Create(ctx, made, dry)
	judge(t, what, err, sentence)
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: made.Name},
		Spec: resourceapi.ResourceClaimTemplateSpec{Spec: made.Spec}}
	_, err = cluster.client.ResourceV1().ResourceClaimTemplates(namespace).Create(ctx, template, dry)
	judge(t, what+" in a template", err, sentence)
}

func judge(t *testing.T, what string, err error, sentence string) {
	t.Helper()
	if err == nil {
		if sentence != "" {
			t.Errorf("%s is not refused, but should be: %s", what, sentence)
		}
		return
	}
	_, got, _ := strings.Cut(err.Error(), refusal)
	if got != sentence || sentence == "" {
		t.Errorf("%s:\n got %v\nwant %s", what, err, sentence)
	}
}

func TestAPIServerRefusesTimesInNovasSentences(t *testing.T) {
	for _, c := range testdata.Arithmetic(t).Reservation {
		if c.VCPUs < 1 || c.VCPUs > 32 {
			// The API itself wants at least one device, and a claim has at most 32.
			continue
		}
		made := claimOf("a", c.RuntimeUS, c.PeriodUS, c.VCPUs)
		if c.RuntimeUS < 0 {
			made.Spec.Devices.Requests[0].Exactly.Capacity.Requests["bandwidth"] = resource.MustParse("0")
		}
		check(t, fmt.Sprint(c), made, c.Sentence)
	}
}

func TestAPIServerReadsNumbersAsNova(t *testing.T) {
	for _, c := range testdata.Arithmetic(t).Number {
		made := claimOf("a", 100_000, 100_000, 1)
		setParameters(made, map[string]any{"cpu.rt_runtime_us": c.Value, "cpu.rt_period_us": 100_000})
		sentence := c.Sentence
		if sentence == "" && c.Number < 2 {
			sentence = fmt.Sprintf("cpu.rt_runtime_us is %d µs, but the kernel accounts for no runtime "+
				"below 2 µs.", c.Number)
		}
		check(t, string(c.Value), made, sentence)
	}
}

func TestAPIServerReadsPoliciesOfInitAsNova(t *testing.T) {
	for _, c := range testdata.Arithmetic(t).Init {
		parameters := map[string]any{"cpu.rt_runtime_us": 30_000, "cpu.rt_period_us": 100_000}
		for name, value := range map[string]json.RawMessage{"cpu.rt_policy": c.Policy, "cpu.rt_priority": c.Priority} {
			if value != nil {
				parameters[name] = value
			}
		}
		made := claimOf("a", 30_000, 100_000, 1)
		setParameters(made, parameters)
		check(t, fmt.Sprint(parameters), made, c.Sentence)
	}
}

func TestAPIServerRefusesClaimsThatAreBuiltWrong(t *testing.T) {
	bandwidth := func(text string) func(*resourceapi.ResourceClaim) {
		return func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.Capacity.Requests["bandwidth"] = resource.MustParse(text)
		}
	}
	mismatch := "The request asks for a bandwidth of %s, but 30000 µs every 100000 µs is 314572: " +
		"give capacity.requests.bandwidth as (runtime << 20) / period, rounded down."
	for sentence, change := range map[string]func(*resourceapi.ResourceClaim){
		fmt.Sprintf(mismatch, "314573"):     bandwidth("314573"),
		fmt.Sprintf(mismatch, "1"):          bandwidth("1"),
		fmt.Sprintf(mismatch, "314572100m"): bandwidth("314572100m"),
		fmt.Sprintf(mismatch, "0"): func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.Capacity = nil
		},
		"The request has 2 vCPUs, and each needs a pCPU of its own: add the constraint " +
			"distinctAttribute: nova-rt.cpu/pcpu.": func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Constraints = nil
		},
		"The request has 33 vCPUs, but a claim has at most 32 devices: use several containers, with a claim " +
			"each.": func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.Count = 33 },
		"The request asks for all pCPUs of a node: give a count of vCPUs.": func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.AllocationMode = resourceapi.DeviceAllocationModeAll
			c.Spec.Devices.Requests[0].Exactly.Count = 0
		},
		"The request has 2 devices, but the device of rt-every-pcpu is all pCPUs of a node: give count " +
			"1.": func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.DeviceClassName = "rt-every-pcpu"
		},
		"The claim has no parameters: give cpu.rt_runtime_us and cpu.rt_period_us in an opaque configuration for " +
			"the driver nova-rt.cpu.": func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Config = nil },
		"The claim has 2 configurations for the driver nova-rt.cpu: give one.": func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Config = append(c.Spec.Devices.Config, c.Spec.Devices.Config[0])
		},
		"The configuration for the driver nova-rt.cpu is not for the request vcpus: name it in the configuration's " +
			"requests.": func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: "gpu",
				Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu"}})
			c.Spec.Devices.Config[0].Requests = []string{"gpu"}
		},
		"The claim asks for pCPUs in the requests vcpus and more: a claim has one reservation, so use two " +
			"claims.": func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, *c.Spec.Devices.Requests[0].DeepCopy())
			c.Spec.Devices.Requests[1].Name = "more"
		},
		"The request vcpus asks for pCPUs in firstAvailable: ask for them in exactly.": func(
			c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests[0] = resourceapi.DeviceRequest{Name: "vcpus",
				FirstAvailable: []resourceapi.DeviceSubRequest{{Name: "a", DeviceClassName: "rt-pcpu"}}}
		},
		"The parameters of the claim are not of this driver: give apiVersion nova-rt.cpu/v1 and kind " +
			"Reservation.": func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Config[0].Opaque.Parameters = runtime.RawExtension{Raw: []byte(`{"cpu.rt_runtime_us": 1}`)}
		},
		"There is no parameter 'cpu.rt_runtime': give cpu.rt_runtime_us and cpu.rt_period_us, and if wanted " +
			"cpu.rt_policy and cpu.rt_priority.": func(c *resourceapi.ResourceClaim) {
			setParameters(c, map[string]any{"cpu.rt_runtime": 30_000, "cpu.rt_period_us": 100_000})
		},
		"cpu.rt_period_us is missing in the parameters of the claim: set both cpu.rt_runtime_us and " +
			"cpu.rt_period_us.": func(c *resourceapi.ResourceClaim) {
			setParameters(c, map[string]any{"cpu.rt_runtime_us": 30_000})
		},
	} {
		made := claimOf("a", 30_000, 100_000, 2)
		change(made)
		check(t, sentence, made, sentence)
	}
}

func TestClaimsOfOtherDriversAreNobodysBusiness(t *testing.T) {
	other := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Namespace: namespace}}
	other.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu",
		Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu"}}}
	check(t, "a claim of a GPU", other, "")
	check(t, "an empty claim", &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: namespace}}, "")
	both := claimOf("both", 30_000, 100_000, 2)
	both.Spec.Devices.Requests = append(both.Spec.Devices.Requests, other.Spec.Devices.Requests[0])
	both.Spec.Devices.Config = append(both.Spec.Devices.Config, resourceapi.DeviceClaimConfiguration{
		DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: "gpu.example.com", Parameters: runtime.RawExtension{Raw: []byte(`{"a": 1}`)}}}})
	check(t, "a claim of pCPUs and a GPU", both, "")
	whole := claimOf("whole", 30_000, 100_000, 1)
	whole.Spec.Devices.Requests[0].Exactly.DeviceClassName = "rt-every-pcpu"
	check(t, "a claim of a node's only device", whole, "")
	whole.Spec.Devices.Requests[0].Exactly.AdminAccess = ptr.To(false)
	check(t, "a claim that says it wants no admin access", whole, "")
}
