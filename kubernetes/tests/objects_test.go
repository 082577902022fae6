// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

const namespace = "default"

// claimOf returns a claim as the documentation shows it.
func claimOf(name string, runtimeUS, periodUS, vcpus int64) *resourceapi.ResourceClaim {
	made := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	exactly := &resourceapi.ExactDeviceRequest{DeviceClassName: "rt-pcpu",
		AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: vcpus,
		Capacity: &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
			"bandwidth": *resource.NewQuantity(runtimeUS<<20/max(1, periodUS), resource.DecimalSI)}}}
	made.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "vcpus", Exactly: exactly}}
	if vcpus > 1 {
		made.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{Requests: []string{"vcpus"},
			DistinctAttribute: ptr.To(resourceapi.FullyQualifiedName("nova-rt.cpu/pcpu"))}}
	}
	setParameters(made, map[string]any{"cpu.rt_runtime_us": runtimeUS, "cpu.rt_period_us": periodUS})
	return made
}

func setParameters(made *resourceapi.ResourceClaim, parameters map[string]any) {
	all := map[string]any{"apiVersion": "nova-rt.cpu/v1", "kind": "Reservation"}
	for name, value := range parameters {
		all[name] = value
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	made.Spec.Devices.Config = []resourceapi.DeviceClaimConfiguration{{
		DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: "nova-rt.cpu", Parameters: runtime.RawExtension{Raw: raw}}}}}
}

// podOf returns a pod of one container with a claim, for one node.
func podOf(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{"kubernetes.io/hostname": node},
			AutomountServiceAccountToken:  ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To(int64(1)),
			ResourceClaims:                []corev1.PodResourceClaim{{Name: "rt", ResourceClaimName: ptr.To(name)}},
			Containers: []corev1.Container{{Name: "main", Image: "none",
				Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "rt"}}}}}}}
}

// run creates a pod with a claim of the same name.
func run(t testing.TB, name, node string, runtimeUS, periodUS, vcpus int64) {
	t.Helper()
	runPod(t, podOf(name, node), runtimeUS, periodUS, vcpus)
}

// runPod creates a pod with a claim of its name.
func runPod(t testing.TB, pod *corev1.Pod, runtimeUS, periodUS, vcpus int64) {
	t.Helper()
	submit(t, claimOf(pod.Name, runtimeUS, periodUS, vcpus), pod)
}

// submit creates a claim and the pod that has it.
func submit(t testing.TB, claim *resourceapi.ResourceClaim, pod *corev1.Pod) {
	t.Helper()
	ctx := context.Background()
	if _, err := cluster.client.ResourceV1().ResourceClaims(namespace).Create(ctx, claim,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podNamed returns a pod as it is now.
func podNamed(name string) (*corev1.Pod, error) {
	return cluster.client.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{})
}

func remove(t testing.TB, name string) {
	t.Helper()
	ctx := context.Background()
	if err := cluster.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err := cluster.client.ResourceV1().ResourceClaims(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
