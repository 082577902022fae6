// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/dra"
	"nova-rt/kubernetes/internal/placement"
	"nova-rt/kubernetes/internal/topology"
)

const (
	manyNodes = 1000
	manyPCPUs = 32
	// A driver whose devices are whole CPUs, of which a claim has some for itself, with the
	// attributes of dra-driver-cpu's. Nobody runs it: its slices are all that a scheduler sees.
	wholeDriver = "whole.cpu"
)

// many is the label of the nodes and their slices.
var many = map[string]string{"many": "yes"}

// BenchmarkThousandNodes places pods in a large cluster of which only the API's objects exist:
// with a claim of ours, and with one of as many whole CPUs.
func BenchmarkThousandNodes(b *testing.B) {
	const rounds = 20
	makeManyNodes(b)
	measured := series{}
	for _, vcpus := range []int64{1, 4} {
		// The first round fills caches.
		for round := range rounds + 1 {
			inTurn(round, func(ours bool) {
				made, what := wholeClaim(vcpus), "whole"
				if ours {
					made, what = claimOf("", 30_000, 100_000, vcpus), "fractions"
				}
				made.Name = fmt.Sprintf("many-%s-%d-%d", what, vcpus, round)
				took := untilBound(b, claimedBy(b, made, many))
				if round > 0 {
					measured.add(fmt.Sprintf("%s %d", what, vcpus), took)
				}
			})
		}
	}
	save(b, measured)
}

// claimedBy creates a claim and returns a pod for it.
func claimedBy(b *testing.B, made *resourceapi.ResourceClaim, nodes map[string]string) *corev1.Pod {
	b.Helper()
	ctx := context.Background()
	if _, err := cluster.client.ResourceV1().ResourceClaims(namespace).Create(ctx, made,
		metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cluster.client.CoreV1().Pods(namespace).Delete(ctx, made.Name,
			metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
		_ = cluster.client.ResourceV1().ResourceClaims(namespace).Delete(ctx, made.Name, metav1.DeleteOptions{})
	})
	// The scheduler hears of the claim before the pod.
	time.Sleep(100 * time.Millisecond)
	pod := podOf(made.Name, "")
	pod.Spec.NodeSelector = nodes
	return pod
}

func wholeClaim(cpus int64) *resourceapi.ResourceClaim {
	made := claimOf("", 30_000, 100_000, cpus)
	made.Spec.Devices = resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{Name: "cpus",
		Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: wholeDriver,
			AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: cpus}}}}
	return made
}

func makeManyNodes(b *testing.B) {
	b.Helper()
	ctx := context.Background()
	config := rest.CopyConfig(cluster.config)
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: wholeDriver}}
	class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
		Expression: `device.driver == "` + wholeDriver + `"`}}}
	if _, err := client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	const makers = 8
	var all sync.WaitGroup
	for maker := range makers {
		all.Go(func() {
			for i := maker; i < manyNodes; i += makers {
				if err := makeObjects(ctx, client, fmt.Sprintf("many-%04d", i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	b.Cleanup(func() {
		some := metav1.ListOptions{LabelSelector: "many=yes"}
		_ = client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, some)
		_ = client.ResourceV1().ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, some)
	})
}

// makeObjects makes a node and the slices of both drivers.
func makeObjects(ctx context.Context, client *kubernetes.Clientset, name string) error {
	node, err := client.CoreV1().Nodes().Create(ctx,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: many}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	node.Status.Allocatable = corev1.ResourceList{"pods": resource.MustParse("110"), "cpu": resource.MustParse("32")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for driver, devices := range map[string][]resourceapi.Device{claim.Driver: fractions(), wholeDriver: wholes()} {
		slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + driver, Labels: many}}
		slice.Spec = resourceapi.ResourceSliceSpec{Driver: driver, NodeName: &name, Devices: devices,
			Pool: resourceapi.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}
		if _, err := client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// fractions are the devices of a node of ours.
func fractions() []resourceapi.Device {
	described := dra.Devices{Capacity: map[int]int64{}, Policy: placement.Default}
	for i := range manyPCPUs {
		described.PCPUs = append(described.PCPUs, topology.PCPU{Index: i})
		described.Capacity[i] = limit
	}
	return described.Pool(described.Capacity).Slices[0].Devices
}

func wholes() []resourceapi.Device {
	var devices []resourceapi.Device
	for i := range int64(manyPCPUs) {
		device := resourceapi.Device{Name: fmt.Sprintf("cpudev%03d", i),
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}}
		for _, attribute := range []resourceapi.QualifiedName{"cpuID", "coreID", "socketID", "numaNodeID"} {
			device.Attributes[attribute] = resourceapi.DeviceAttribute{IntValue: ptr.To(i)}
		}
		devices = append(devices, device)
	}
	return devices
}
