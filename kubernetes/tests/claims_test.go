// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestPodGetsItsBandwidthOnTwoDifferentPCPUs(t *testing.T) {
	n := newNode(t, "two", 4)
	run(t, "two-a", n.name, 30_000, 100_000, 2)
	n.running("two-a")
	pods, _ := filepath.Glob(filepath.Join(n.dir, "cgroup/kubepods/pod*/*"))
	containers := slices.DeleteFunc(pods, func(name string) bool { return strings.Contains(name, "cpu.rt") })
	if len(containers) != 1 {
		t.Fatal(pods)
	}
	group, _ := filepath.Rel(filepath.Join(n.dir, "cgroup"), containers[0])
	// Worst-fit of an empty node: the first two.
	if got := n.runtimes(group); !slices.Equal(got, []int64{30_000, 30_000, 0, 0}) {
		t.Errorf("the container has %v", got)
	}
	if got := n.bandwidths(); !slices.Equal(got, []int64{314_572, 314_572, 0, 0}) {
		t.Errorf("all pods have %v", got)
	}
	if got := n.kubelet.cpus["two-a"]; got != "0,1" {
		t.Errorf("the container is confined to %q", got)
	}
	remove(t, "two-a")
	n.wait(n.nothingLeft)
	n.wait(n.healthy)
}

func TestPodOfATemplateGetsAClaimOfItsOwn(t *testing.T) {
	n := newNode(t, "template", 2)
	ctx := context.Background()
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "half"}}
	template.Spec.Spec = claimOf("half", 50_000, 100_000, 1).Spec
	if _, err := cluster.client.ResourceV1().ResourceClaimTemplates(namespace).Create(ctx, template,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"template-a", "template-b"} {
		pod := podOf(name, n.name)
		pod.Spec.ResourceClaims[0] = corev1.PodResourceClaim{Name: "rt", ResourceClaimTemplateName: ptr.To("half")}
		if _, err := cluster.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	n.running("template-a", "template-b")
	if got := n.bandwidths(); !slices.Equal(got, []int64{524_288, 524_288}) {
		t.Errorf("all pods have %v", got)
	}
	for _, name := range []string{"template-a", "template-b"} {
		if err := cluster.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	n.wait(n.nothingLeft)
}

func TestPodWaitsWhileTheNodeIsFull(t *testing.T) {
	n := newNode(t, "full", 2)
	run(t, "full-a", n.name, 60_000, 100_000, 2)
	n.running("full-a")
	// In sum there is room: 2 x 30%.
	run(t, "full-b", n.name, 40_000, 100_000, 1)
	n.wait(func() error { return unschedulable("full-b") })
	remove(t, "full-a")
	n.running("full-b")
	remove(t, "full-b")
	n.wait(n.nothingLeft)
}

func unschedulable(name string) error {
	pod, err := podNamed(name)
	if err != nil {
		return err
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
			return nil
		}
	}
	return fmt.Errorf("the pod %s is not unschedulable: %w", name, errNotYet)
}

func TestClaimsThatRaceNeverPassTheCap(t *testing.T) {
	n := newNode(t, "race", 2)
	var names []string
	for i := range 10 {
		name := fmt.Sprint("race-", i)
		names = append(names, name)
		run(t, name, n.name, 30_000, 100_000, 1)
	}
	// Three fit each pCPU.
	n.wait(func() error {
		waiting := 0
		for _, name := range names {
			if unschedulable(name) == nil {
				waiting++
			}
		}
		if bws := n.bandwidths(); slices.Max(bws) > limit {
			t.Fatalf("all pods have %v of %d", bws, limit)
		}
		if got := n.bandwidths(); waiting != 4 || !slices.Equal(got, []int64{943_716, 943_716}) {
			return fmt.Errorf("%d pods wait, the others have %v", waiting, got)
		}
		return nil
	})
	for _, name := range names {
		remove(t, name)
	}
	n.wait(n.nothingLeft)
}

// Two schedulers do not know of each other's promises. The second one is this test.
func TestSecondSchedulersPromiseIsRefusedOnTheNode(t *testing.T) {
	n := newNode(t, "second", 1)
	run(t, "second-a", n.name, 60_000, 100_000, 1)
	n.running("second-a")
	ctx := context.Background()
	claims := cluster.client.ResourceV1().ResourceClaims(namespace)
	made, err := claims.Create(ctx, claimOf("second-b", 60_000, 100_000, 1), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := claims.Get(ctx, "second-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf("second-b", n.name)
	pod.Spec.SchedulerName = "second"
	if pod, err = cluster.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	made.Status.Allocation = first.Status.Allocation.DeepCopy()
	made.Status.Allocation.Devices.Results[0].ShareID = ptr.To(pod.UID)
	made.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{
		{Resource: "pods", Name: pod.Name, UID: pod.UID}}
	if _, err := claims.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.client.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: n.name}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.wait(func() error {
		problem := n.kubelet.problem("second-b")
		if !strings.Contains(problem, "60% is needed on pCPU 0, which has 30% left") {
			return fmt.Errorf("the pod says %q: %w", problem, errNotYet)
		}
		return nil
	})
	if got := n.bandwidths(); got[0] != 629_145 {
		t.Errorf("all pods have %v", got)
	}
	// It is placed as soon as there is room, without anybody's help.
	remove(t, "second-a")
	n.running("second-b")
	remove(t, "second-b")
	n.wait(n.nothingLeft)
}

func TestRestartsLoseAndLeakNothing(t *testing.T) {
	n := newNode(t, "restart", 2)
	run(t, "restart-a", n.name, 30_000, 100_000, 2)
	run(t, "restart-b", n.name, 20_000, 50_000, 1)
	n.running("restart-a", "restart-b")
	before := n.bandwidths()

	// The driver is killed. What runs keeps what it has; a pod that comes has to wait.
	n.killDriver()
	run(t, "restart-c", n.name, 10_000, 100_000, 1)
	if got := n.bandwidths(); !slices.Equal(got, before) {
		t.Errorf("all pods have %v, not %v", got, before)
	}
	// One ends meanwhile: its runtime is found when the driver is back.
	remove(t, "restart-b")
	n.startDriver()
	n.running("restart-c")
	n.wait(func() error { return total(n, 2*314_572+104_857) })

	// The runtime restarts.
	n.runtime.stop()
	n.runtime.start()
	run(t, "restart-d", n.name, 10_000, 100_000, 1)
	n.running("restart-d")
	n.wait(func() error { return total(n, 2*314_572+2*104_857) })

	// The kubelet restarts without its memory of pods that run: it prepares them again.
	n.kubelet.stop()
	ctx := context.Background()
	pod, err := podNamed("restart-a")
	if err != nil {
		t.Fatal(err)
	}
	claims, err := claimsOf(ctx, pod)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := n.kubelet.prepare(ctx, claims); err != nil {
			t.Fatal(err)
		}
	}
	n.kubelet.start()
	if err := total(n, 2*314_572+2*104_857); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"restart-a", "restart-c", "restart-d"} {
		remove(t, name)
	}
	n.wait(n.nothingLeft)
}

// The driver is killed again and again while pods come and go.
func TestDriverThatIsKilledAtAnyTime(t *testing.T) {
	n := newNode(t, "kill", 2)
	for round := range 6 {
		names := []string{fmt.Sprintf("kill-%d-a", round), fmt.Sprintf("kill-%d-b", round)}
		for _, name := range names {
			run(t, name, n.name, 30_000, 100_000, 2)
		}
		for range 3 {
			n.killDriver()
			n.startDriver()
		}
		n.running(names...)
		if err := total(n, 4*314_572); err != nil {
			t.Error(err)
		}
		for _, name := range names {
			remove(t, name)
		}
		n.killDriver()
		n.startDriver()
		n.wait(n.nothingLeft)
	}
}

func TestNodeThatShrinks(t *testing.T) {
	n := newNode(t, "shrinks", 2)
	run(t, "shrinks-a", n.name, 30_000, 100_000, 2)
	n.running("shrinks-a")
	n.write("sys/devices/system/cpu/online", "0")
	// The driver ends, and the DaemonSet starts it again.
	if err := n.driver.Wait(); err == nil {
		t.Error("the driver has ended without an error")
	}
	log, _ := os.ReadFile(n.driver.log)
	if !strings.Contains(string(log), "the pCPUs of the node, or what its kernel admits, have changed") {
		t.Errorf("the driver said:\n%s", log)
	}
	n.startDriver()
	n.wait(func() error { return n.published(1) })
	// What runs keeps what it has; what comes gets what is left of the other pCPU.
	run(t, "shrinks-b", n.name, 60_000, 100_000, 1)
	n.running("shrinks-b")
	if got := n.bandwidths(); !slices.Equal(got, []int64{314_572 + 629_145, 314_572}) {
		t.Errorf("all pods have %v", got)
	}
	run(t, "shrinks-c", n.name, 10_000, 100_000, 2)
	n.wait(func() error { return unschedulable("shrinks-c") })
	for _, name := range []string{"shrinks-a", "shrinks-b", "shrinks-c"} {
		remove(t, name)
	}
	n.wait(n.nothingLeft)
}

// Without the annotation, the runtime does not miss the driver, but the gate does.
func TestContainerWaitsForADriverThatIsDown(t *testing.T) {
	n := newNode(t, "down", 1)
	ctx := context.Background()
	if _, err := cluster.client.ResourceV1().ResourceClaims(namespace).Create(ctx,
		claimOf("down-a", 30_000, 100_000, 1), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := podOf("down-a", n.name)
	pod.Annotations = map[string]string{"required-plugins.noderesource.dev/pod": "[nova-rt]"}
	pod, err := cluster.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.running("down-a")
	n.kubelet.stop()
	running := n.kubelet.pods[string(pod.UID)]
	edits, err := n.edits([]string{"nova-rt.cpu/claim=" + running.claims[0].Uid})
	if err != nil {
		t.Fatal(err)
	}

	// It crashes while the driver is down, and is to restart.
	n.killDriver()
	n.runtime.end(running.container)
	again := func(annotations map[string]string) error {
		id, _, err := n.runtime.run(string(pod.UID), pod.Name, edits, annotations)
		running.container = id
		return err
	}
	if err := again(pod.Annotations); err == nil || !strings.Contains(err.Error(), "nova-rt") {
		t.Errorf("the container is created without the driver: %v", err)
	}
	if err := again(nil); err == nil || !strings.Contains(err.Error(),
		"has not got 30000 µs every 100000 µs of its claim") {
		t.Errorf("the container is started without its reservation: %v", err)
	}
	n.startDriver()
	n.wait(func() error { return again(pod.Annotations) })
	if got := n.bandwidths(); !slices.Equal(got, []int64{314_572}) {
		t.Errorf("all pods have %v", got)
	}
	n.kubelet.start()
	remove(t, "down-a")
	n.wait(n.nothingLeft)
}

func total(n *fakeNode, want int64) error {
	var got int64
	for _, bw := range n.bandwidths() {
		got += bw
	}
	if got != want {
		return fmt.Errorf("all pods have %d, not %d: %w", got, want, errNotYet)
	}
	return nil
}

func TestPlacementPolicies(t *testing.T) {
	for policy, want := range map[string][]int64{
		"worst-fit": {524_288, 629_145, 2 * 209_715},
		"best-fit":  {524_288 + 209_715, 629_145 + 209_715, 0},
		"first-fit": {524_288 + 2*209_715, 629_145, 0},
	} {
		t.Run(policy, func(t *testing.T) {
			n := newNode(t, policy, 3, "--placement-policy", policy)
			prefix := policy + "-"
			for i, runtimeUS := range []int64{50_000, 60_000, 20_000, 20_000} {
				name := fmt.Sprint(prefix, i)
				run(t, name, n.name, runtimeUS, 100_000, 1)
				n.running(name)
				// The order of the devices follows a claim that is prepared.
				n.wait(func() error { return orderedAs(n, policy) })
			}
			if got := n.bandwidths(); !slices.Equal(got, want) {
				t.Errorf("%s has placed %v, not %v", policy, got, want)
			}
			for i := range 4 {
				remove(t, fmt.Sprint(prefix, i))
			}
			n.wait(n.nothingLeft)
		})
	}
}

func orderedAs(n *fakeNode, policy string) error {
	if policy == "first-fit" {
		return nil
	}
	bws, order := n.bandwidths(), n.order()
	var used []int64
	for _, name := range order {
		var pcpu int
		if _, err := fmt.Sscanf(name, "pcpu-%d", &pcpu); err != nil {
			return err
		}
		used = append(used, bws[pcpu])
	}
	if policy == "best-fit" {
		slices.Reverse(used)
	}
	if !slices.IsSorted(used) {
		return fmt.Errorf("the devices are in the order %v with %v used: %w", order, bws, errNotYet)
	}
	return nil
}

func TestDriverMayDoNoMoreThanItNeeds(t *testing.T) {
	n := newNode(t, "rights", 1)
	for _, c := range []struct {
		verb, resource string
		want           bool
	}{{"get", "resourceclaims", true}, {"list", "resourceclaims", false}, {"update", "resourceclaims", false},
		{"update", "resourceslices", true}, {"get", "nodes", true}, {"list", "nodes", false},
		{"get", "secrets", false}, {"list", "pods", false}} {
		if got := mayDriver(t, n, c.verb, c.resource); got != c.want {
			t.Errorf("the driver may %s %s: %v", c.verb, c.resource, got)
		}
	}
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "stolen"},
		Spec: resourceapi.ResourceSliceSpec{Driver: "nova-rt.cpu", NodeName: ptr.To("other"),
			Pool: resourceapi.ResourcePool{Name: "other", ResourceSliceCount: 1}}}
	_, err := driverClient(t, n).ResourceV1().ResourceSlices().Create(context.Background(), slice,
		metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(),
		"The driver on the node rights may write its own slices only.") {
		t.Error(err)
	}
}

func TestBadOptionsGetOneSentence(t *testing.T) {
	for want, arguments := range map[string][]string{
		"the node has no name: give --node-name or NODE_NAME":                                                                   {},
		"--cap is 2: give a part of a pCPU above 0 and up to 1, such as 0.95":                                                   {"--node-name=a", "--cap=2"},
		`--placement-policy is "x": give one of best-fit, first-fit, worst-fit`:                                                 {"--node-name=a", "--placement-policy=x"},
		"there is no control group /pods: start the kubelet first, and name its group for pods by --top if it has another name": {"--node-name=a", "--cgroups=" + os.TempDir(), "--top=pods"},
	} {
		output, err := exec.Command(cluster.driver, arguments...).CombinedOutput()
		if err == nil || string(output) != "nova-rt-dra: "+want+"\n" {
			t.Errorf("%v: %s", arguments, output)
		}
	}
}
