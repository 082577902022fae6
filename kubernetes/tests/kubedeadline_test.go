// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	"sigs.k8s.io/yaml"
)

const (
	figure4 = "../examples/kubedeadline.yaml"
	// Of its claim: 100 of 1000.
	figure4Bandwidth = int64(104_857)
)

// readFigure4 returns KubeDeadline's example in today's API.
func readFigure4(t *testing.T) (*resourceapi.ResourceClaim, *corev1.Pod) {
	t.Helper()
	text, err := os.ReadFile(figure4)
	if err != nil {
		t.Fatal(err)
	}
	claim, pod := &resourceapi.ResourceClaim{}, &corev1.Pod{}
	documents := bytes.Split(text, []byte("---\n"))
	if len(documents) != 2 {
		t.Fatalf("%s has %d documents", figure4, len(documents))
	}
	for i, object := range []any{claim, pod} {
		if err := yaml.UnmarshalStrict(documents[i], object); err != nil {
			t.Fatal(err)
		}
	}
	return claim, pod
}

func get(t *testing.T, claim string) *resourceapi.ResourceClaim {
	t.Helper()
	found, err := cluster.client.ResourceV1().ResourceClaims(namespace).Get(context.Background(), claim,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// onAnyNode returns a pod with a claim of its name, that no node is named for.
func onAnyNode(name string) *corev1.Pod {
	pod := podOf(name, "")
	pod.Spec.NodeSelector = nil
	return pod
}

// Step 0 of KubeDeadline's algorithm 1: its example is valid, and what is not is refused
// before anything is allocated.
func TestAlgorithm1ValidatesTheInput(t *testing.T) {
	claim, _ := readFigure4(t)
	check(t, "the example", claim, "")
	for sentence, parameters := range map[string]map[string]any{
		"There is no parameter 'count': give cpu.rt_runtime_us and cpu.rt_period_us, and if wanted " +
			"cpu.rt_policy and cpu.rt_priority.": {"count": 2},
		"cpu.rt_period_us is missing in the parameters of the claim: set both cpu.rt_runtime_us and " +
			"cpu.rt_period_us.": {"cpu.rt_period_us": nil},
		"cpu.rt_runtime_us is missing in the parameters of the claim: set both cpu.rt_runtime_us and " +
			"cpu.rt_period_us.": {"cpu.rt_runtime_us": nil},
		"cpu.rt_runtime_us is 1 µs, but the kernel accounts for no runtime below 2 µs.": {"cpu.rt_runtime_us": 1},
		"cpu.rt_period_us is 99 µs, but a period must be from 100 µs to 4194304 µs.":    {"cpu.rt_period_us": 99},
	} {
		changed := claim.DeepCopy()
		all := map[string]any{"cpu.rt_runtime_us": 100, "cpu.rt_period_us": 1000}
		maps.Copy(all, parameters)
		maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
		setParameters(changed, all)
		check(t, fmt.Sprint(parameters), changed, sentence)
	}
	claim.Spec.Devices.Requests[0].Exactly.Count = -1
	_, err := cluster.client.ResourceV1().ResourceClaims(namespace).Create(context.Background(), claim,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "count: Invalid value: -1") {
		t.Errorf("a claim of -1 cores: %v", err)
	}
}

// withdraw deletes a pod and its claim, which may have different names.
func (n *fakeNode) withdraw(claim, pod string) {
	n.Helper()
	ctx := context.Background()
	if err := cluster.client.CoreV1().Pods(namespace).Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
		n.Fatal(err)
	}
	if err := cluster.client.ResourceV1().ResourceClaims(namespace).Delete(ctx, claim,
		metav1.DeleteOptions{}); err != nil {
		n.Fatal(err)
	}
	n.wait(n.nothingLeft)
	n.wait(func() error { return gone(pod) })
}

// Step 1 and 2 of algorithm 1, for the example: of the nodes, one with enough cores of
// enough bandwidth is found, what it gives is recorded, and there it is prepared.
func TestAlgorithm1AllocatesAndPreparesTheExample(t *testing.T) {
	// One has too few cores; one has enough, but on one of them only 0.05 left; one has room.
	few, full, room := newNode(t, "few", 1), newNode(t, "full-1", 2), newNode(t, "room", 3)
	run(t, "full-1-a", full.name, 850, 1000, 1)
	full.running("full-1-a")
	run(t, "room-a", room.name, 500, 1000, 1)
	room.running("room-a")
	consumed := room.bandwidths()

	claim, pod := readFigure4(t)
	refusesClass(t, room, claim.DeepCopy(), pod.DeepCopy())
	submit(t, claim, pod)
	room.running(pod.Name)
	allocated := get(t, claim.Name)
	uid, pcpus := string(allocated.UID), allocation(t, allocated, room.name)
	// Worst-fit: not the core that has given half.
	if consumed[0] != 524_288 || !slices.Equal(pcpus, []int{1, 2}) {
		t.Errorf("of cores with %v, it has %v", consumed, pcpus)
	}
	// BW[ID] <- BW[ID] + bw, of the selected node alone.
	if got, want := room.bandwidths(), []int64{524_288, figure4Bandwidth, figure4Bandwidth}; !slices.Equal(got, want) {
		t.Errorf("the node's cores have %v, not %v", got, want)
	}
	if got := append(few.bandwidths(), full.bandwidths()...); !slices.Equal(got, []int64{0, 891_289, 0}) {
		t.Errorf("cores of the other nodes have %v", got)
	}

	room.forwards(allocated, uid)
	group := room.only("kubepods/pod*/" + pod.Name + "*")
	if got := room.runtimes(group); !slices.Equal(got, []int64{0, 100, 100}) {
		t.Errorf("the container has %v", got)
	}
	period, _ := os.ReadFile(filepath.Join(room.groupDir(group), "cpu.rt_period_us"))
	if first, _, _ := strings.Cut(string(period), "\n"); first != "1000" {
		t.Errorf("the container's period is %q", period)
	}
	if got := room.kubelet.cpus[pod.Name]; got != "1,2" {
		t.Errorf("the container is confined to %q", got)
	}
	remove(t, "full-1-a")
	full.wait(full.nothingLeft)
	remove(t, "room-a")
	room.withdraw(claim.Name, pod.Name)
}

// refusesClass wants a claim of a class that is not there to be given nothing.
func refusesClass(t *testing.T, n *fakeNode, claim *resourceapi.ResourceClaim, pod *corev1.Pod) {
	t.Helper()
	claim.Name, pod.Name = "other-class", "other-class"
	claim.Spec.Devices.Requests[0].Exactly.DeviceClassName = "rt.kubedeadline.io"
	pod.Spec.ResourceClaims[0].ResourceClaimName = &claim.Name
	submit(t, claim, pod)
	n.wait(func() error { return unschedulable(pod.Name) })
	if got := get(t, claim.Name); got.Status.Allocation != nil {
		t.Errorf("the claim is allocated: %v", got.Status.Allocation)
	}
	remove(t, pod.Name)
}

// allocation returns the pCPUs that a claim's status records, which takes the place of
// KubeDeadline's Node Allocation State.
func allocation(t *testing.T, claim *resourceapi.ResourceClaim, node string) []int {
	t.Helper()
	var pcpus []int
	for _, result := range claim.Status.Allocation.Devices.Results {
		var pcpu int
		if _, err := fmt.Sscanf(result.Device, "pcpu-%d", &pcpu); err != nil {
			t.Fatal(err)
		}
		consumed := result.ConsumedCapacity["bandwidth"]
		if result.Driver != "nova-rt.cpu" || result.Pool != node || consumed.Value() != figure4Bandwidth {
			t.Errorf("the claim has %s %s/%s with %v", result.Driver, result.Pool, result.Device, &consumed)
		}
		pcpus = append(pcpus, pcpu)
	}
	slices.Sort(pcpus)
	return pcpus
}

// forwards wants the driver to answer the kubelet with the CDI device of a claim, and its
// file to say what the algorithm has as "rtcpu-runtime=100-period=1000-CPUSET=1,2".
func (n *fakeNode) forwards(claim *resourceapi.ResourceClaim, uid string) {
	n.Helper()
	devices, err := n.kubelet.prepare(context.Background(), []*drapb.Claim{
		{Namespace: claim.Namespace, Name: claim.Name, Uid: uid}})
	if err != nil || !slices.Equal(devices, []string{"nova-rt.cpu/claim=" + uid}) {
		n.Errorf("the driver answers %v, %v", devices, err)
	}
	edits, err := n.edits(devices)
	if want := "NOVA_RT_CLAIM_" + strings.ReplaceAll(uid, "-", "_") + "=100/1000"; err != nil ||
		!slices.Equal(edits.Env, []string{want}) {
		n.Errorf("the CDI device gives %v, %v", edits, err)
	}
	text, err := os.ReadFile(filepath.Join(n.dir, "cdi", "nova-rt.cpu-claim_"+uid+".json"))
	if err != nil {
		n.Fatal(err)
	}
	var spec struct {
		Devices []struct{ Annotations map[string]string }
	}
	var reserved struct{ PCPUs []int }
	if err := json.Unmarshal(text, &spec); err != nil {
		n.Fatal(err)
	}
	if err := json.Unmarshal([]byte(spec.Devices[0].Annotations["nova-rt.cpu/reserved"]), &reserved); err != nil {
		n.Fatal(err)
	}
	if !slices.Equal(reserved.PCPUs, []int{1, 2}) {
		n.Errorf("the CDI file says:\n%s", text)
	}
}

// only returns the one group of this pattern.
func (n *fakeNode) only(pattern string) string {
	n.Helper()
	found, _ := filepath.Glob(n.groupDir(pattern))
	if len(found) != 1 {
		n.Fatalf("the groups %s are %v", pattern, found)
	}
	group, _ := filepath.Rel(filepath.Join(n.dir, "cgroup"), found[0])
	return group
}

// Equation 1 at its bound: what is left of 95% beside the fair server's 5% is given to the
// last unit, and one unit more waits, without CDI devices, until another claim ends.
func TestAlgorithm1AdmitsUpToTheBound(t *testing.T) {
	n := newNode(t, "bound", 1)
	// (limit - 9 * 104857) = 6: 6 / 2^20 is 24 of 2^22.
	var names []string
	for i := range 9 {
		names = append(names, fmt.Sprint("bound-", i))
		run(t, names[i], n.name, 100, 1000, 1)
	}
	n.running(names...)
	run(t, "bound-rest", n.name, 24, 4_194_304, 1)
	n.running("bound-rest")
	if got := n.bandwidths(); !slices.Equal(got, []int64{limit}) {
		t.Errorf("all pods have %v of %d", got, limit)
	}
	run(t, "bound-more", n.name, 4, 4_194_304, 1)
	n.wait(func() error { return unschedulable("bound-more") })
	if claim := get(t, "bound-more"); claim.Status.Allocation != nil || len(claim.Status.ReservedFor) > 0 {
		t.Errorf("the claim that waits has %v", claim.Status)
	}
	if files, _ := os.ReadDir(filepath.Join(n.dir, "cdi")); len(files) != 10 {
		t.Errorf("the CDI devices of 10 claims are %v", files)
	}
	remove(t, "bound-rest")
	n.running("bound-more")
	if got := n.bandwidths(); !slices.Equal(got, []int64{9*figure4Bandwidth + 1}) {
		t.Errorf("all pods have %v", got)
	}
	for _, name := range names {
		remove(t, name)
	}
	remove(t, "bound-more")
	n.wait(n.nothingLeft)
}

// A pod that no node has room for waits until there is a node that has.
func TestAlgorithm1TriesEachNodeAndWaitsForAnother(t *testing.T) {
	first := newNode(t, "first-of", 2)
	var names []string
	// Two of 2 x 50% do not fit a node whose cores have 90% each.
	for i := range 3 {
		name := fmt.Sprint("each-", i)
		names = append(names, name)
		runPod(t, onAnyNode(name), 500, 1000, 2)
	}
	first.wait(func() error { return waiting(names, 2) })
	second := newNode(t, "second-of", 2)
	second.wait(func() error { return waiting(names, 1) })
	third := newNode(t, "third-of", 2)
	third.running(names...)
	for _, n := range []*fakeNode{first, second, third} {
		if got := n.bandwidths(); !slices.Equal(got, []int64{524_288, 524_288}) {
			t.Errorf("cores of the node %s have %v", n.name, got)
		}
	}
	for _, name := range names {
		remove(t, name)
	}
	for _, n := range []*fakeNode{first, second, third} {
		n.wait(n.nothingLeft)
	}
}

// waiting wants so many pods to find no node, and the others to run.
func waiting(names []string, want int) error {
	waiting, running := 0, 0
	for _, name := range names {
		pod, err := podNamed(name)
		if err != nil {
			return err
		}
		if pod.Status.Phase == corev1.PodRunning {
			running++
		} else if unschedulable(name) == nil {
			waiting++
		}
	}
	if waiting != want || waiting+running != len(names) {
		return fmt.Errorf("%d pods wait and %d run: %w", waiting, running, errNotYet)
	}
	return nil
}
