// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nova-rt/kubernetes/internal/bandwidth"
)

// What the fake kernel admits on a pCPU: 95% but for the fair server.
const limit = int64(996147 - 52428)

// fakeNode is a node whose kernel is a directory, and which runs the real driver.
type fakeNode struct {
	testing.TB
	name, dir string
	pcpus     int
	arguments []string
	driver    *process
	kubelet   *fakeKubelet
	runtime   *fakeRuntime
	address   string
}

func newNode(t testing.TB, name string, pcpus int, arguments ...string) *fakeNode {
	t.Helper()
	n := &fakeNode{TB: t, name: name, dir: path(name), pcpus: pcpus, arguments: arguments,
		address: "127.0.0.1:" + freePort()}
	n.makeKernel()
	n.register()
	n.runtime = newRuntime(n)
	n.kubelet = newKubelet(n)
	n.startDriver()
	t.Cleanup(n.cleanUp)
	n.wait(func() error { return n.published(pcpus) })
	return n
}

// makeKernel writes the files that the driver reads of a kernel and of its control groups.
func (n *fakeNode) makeKernel() {
	for name, text := range map[string]string{
		"proc/sys/kernel/sched_rt_runtime_us": "950000",
		"proc/sys/kernel/sched_rt_period_us":  "1000000",
		"proc/sys/kernel/osrelease":           "6.12.0",
		"sys/devices/system/cpu/online":       fmt.Sprintf("0-%d", n.pcpus-1),
		"sys/devices/system/cpu/possible":     fmt.Sprintf("0-%d", n.pcpus-1),
	} {
		n.write(name, text)
	}
	n.makeGroup("kubepods")
}

// makeGroup makes a control group and those above it as our kernel shows them: without a
// budget of their own. Like the kernel's, it is there with all its files or not at all.
func (n *fakeNode) makeGroup(group string) {
	if _, err := os.Stat(n.groupDir(group)); err == nil {
		return
	}
	if above := filepath.Dir(group); above != "." {
		n.makeGroup(above)
	}
	n.write("new/cpu.rt_period_us", "1000000")
	n.write("new/cpu.rt_multi_runtime_us", strings.TrimSpace(strings.Repeat("-1 ", n.pcpus)))
	if err := os.MkdirAll(filepath.Dir(n.groupDir(group)), 0o755); err != nil {
		n.Error(err)
	}
	if err := os.Rename(filepath.Join(n.dir, "new"), n.groupDir(group)); err != nil {
		n.Error(err)
	}
}

func (n *fakeNode) removeGroup(group string) {
	old := filepath.Join(n.dir, "old")
	err := os.Rename(n.groupDir(group), old)
	if err == nil {
		err = os.RemoveAll(old)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.Error(err)
	}
}

func (n *fakeNode) groupDir(group string) string { return filepath.Join(n.dir, "cgroup", group) }

func (n *fakeNode) write(name, text string) {
	file := filepath.Join(n.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		n.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		n.Fatal(err)
	}
}

// register makes the node's object, and a token of the driver's account that names it.
func (n *fakeNode) register() {
	n.Helper()
	ctx := context.Background()
	nodes := cluster.client.CoreV1().Nodes()
	made, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name,
		Labels: map[string]string{"kubernetes.io/hostname": n.name}}}, metav1.CreateOptions{})
	if err != nil {
		n.Fatal(err)
	}
	made.Status.Allocatable = corev1.ResourceList{"pods": resource.MustParse("110"),
		"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi")}
	made.Status.Capacity = made.Status.Allocatable
	made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if made, err = nodes.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		n.Fatal(err)
	}
	token, err := driverToken(made)
	if err != nil {
		n.Fatal(err)
	}
	if err := writeKubeconfig(n.kubeconfig(), token); err != nil {
		n.Fatal(err)
	}
}

// driverToken returns a token of the driver's account as a pod on a node has it.
func driverToken(node *corev1.Node) (string, error) {
	made, err := cluster.client.CoreV1().ServiceAccounts("nova-rt").CreateToken(context.Background(), "nova-rt-dra",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Node", APIVersion: "v1",
				Name: node.Name, UID: node.UID}}}, metav1.CreateOptions{})
	return made.Status.Token, err
}

func (n *fakeNode) kubeconfig() string { return filepath.Join(n.dir, "driver.conf") }

func (n *fakeNode) startDriver() {
	n.Helper()
	started, err := start(n.name, cluster.driver, append([]string{
		"--node-name", n.name, "--kubeconfig", n.kubeconfig(), "--kubelet-dir", filepath.Join(n.dir, "kubelet"),
		"--cdi-dir", filepath.Join(n.dir, "cdi"), "--nri-socket", n.runtime.socket, "--address", n.address,
		"--cgroups", filepath.Join(n.dir, "cgroup"), "--proc", filepath.Join(n.dir, "proc"),
		"--sysfs", filepath.Join(n.dir, "sys")}, n.arguments...)...)
	if err != nil {
		n.Fatal(err)
	}
	n.driver = started
}

// killDriver ends it as a crash does.
func (n *fakeNode) killDriver() {
	_ = n.driver.stop(syscall.SIGKILL)
}

func (n *fakeNode) cleanUp() {
	if n.Failed() {
		log, _ := os.ReadFile(n.driver.log)
		n.Logf("the driver of %s said:\n%s", n.name, log)
	}
	n.kubelet.stop()
	if err := n.driver.stop(syscall.SIGTERM); err != nil {
		n.Errorf("the driver of %s ended with: %v", n.name, err)
	}
	n.runtime.stop()
	if log, _ := os.ReadFile(n.driver.log); strings.Contains(string(log), "DATA RACE") {
		n.Errorf("the driver of %s has a data race:\n%s", n.name, log)
	}
	ctx := context.Background()
	_ = cluster.client.CoreV1().Nodes().Delete(ctx, n.name, metav1.DeleteOptions{})
}

// wait tries until there is no error.
func (n *fakeNode) wait(try func() error) {
	n.Helper()
	if err := eventually(try); err != nil {
		n.Fatal(err)
	}
}

func (n *fakeNode) running(names ...string) {
	n.Helper()
	n.wait(func() error {
		for _, name := range names {
			pod, err := podNamed(name)
			if err != nil {
				return err
			}
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("the pod %s is %s: %v, %s", name, pod.Status.Phase, pod.Status.Conditions,
					n.kubelet.problem(name))
			}
		}
		return nil
	})
}

// published wants so many devices of the node.
func (n *fakeNode) published(count int) error { return publishedBy(n.name, count) }

func publishedBy(node string, count int) error {
	order, err := devicesOf(node)
	if err == nil && len(order) != count {
		err = fmt.Errorf("the node %s has the devices %v: %w", node, order, errNotYet)
	}
	return err
}

func (n *fakeNode) order() []string {
	order, err := devicesOf(n.name)
	if err != nil {
		n.Fatal(err)
	}
	return order
}

// devicesOf returns the devices of a node in the order in which the scheduler tries them.
func devicesOf(node string) ([]string, error) {
	found, err := cluster.client.ResourceV1().ResourceSlices().List(context.Background(),
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	var order []string
	for _, slice := range found.Items {
		for _, device := range slice.Spec.Devices {
			order = append(order, device.Name)
		}
	}
	return order, nil
}

// runtimes returns what a control group has on each pCPU.
func (n *fakeNode) runtimes(group string) []int64 {
	text, err := os.ReadFile(filepath.Join(n.groupDir(group), "cpu.rt_multi_runtime_us"))
	if err != nil {
		return nil
	}
	var runtimes []int64
	// What the driver has written last is the first line.
	line, _, _ := strings.Cut(string(text), "\n")
	for word := range strings.FieldsSeq(line) {
		runtime, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			n.Errorf("/%s has %q", group, text)
		}
		runtimes = append(runtimes, runtime)
	}
	return runtimes
}

// bandwidths returns what the group of all pods has on each pCPU, in fixed point.
func (n *fakeNode) bandwidths() []int64 {
	text, err := os.ReadFile(filepath.Join(n.dir, "cgroup/kubepods/cpu.rt_period_us"))
	if err != nil {
		n.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	period, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		n.Fatal(err)
	}
	var all []int64
	for _, runtime := range n.runtimes("kubepods") {
		all = append(all, bandwidth.Of(runtime, period))
	}
	return all
}

// nothingLeft wants no runtime, no record and nothing of containers.
func (n *fakeNode) nothingLeft() error {
	for pcpu, bw := range n.bandwidths() {
		if bw != 0 {
			return fmt.Errorf("pCPU %d still has %d: %w", pcpu, bw, errNotYet)
		}
	}
	if files, _ := os.ReadDir(filepath.Join(n.dir, "cdi")); len(files) > 0 {
		return fmt.Errorf("there are still %v: %w", files, errNotYet)
	}
	return nil
}

func (n *fakeNode) healthy() error {
	answer, err := http.Get("http://" + n.address + "/healthz")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz says %s: %w", answer.Status, errNotYet)
	}
	return nil
}

// edits are what CDI changes of a container.
type edits struct {
	Env   []string
	Hooks []struct {
		HookName string
		Args     []string
	}
}

// edits returns what CDI changes of a container for some devices.
func (n *fakeNode) edits(devices []string) (edits, error) {
	var all edits
	for _, device := range devices {
		kind, uid, _ := strings.Cut(device, "=")
		text, err := os.ReadFile(filepath.Join(n.dir, "cdi", strings.Replace(kind, "/", "-", 1)+"_"+uid+".json"))
		if err != nil {
			return all, err
		}
		var spec struct {
			Kind    string
			Devices []struct {
				Name           string
				ContainerEdits edits
			}
		}
		if err := json.Unmarshal(text, &spec); err != nil {
			return all, err
		}
		if spec.Kind != kind || spec.Devices[0].Name != uid {
			return all, fmt.Errorf("%s is not of %s", text, device)
		}
		all.Env = append(all.Env, spec.Devices[0].ContainerEdits.Env...)
		all.Hooks = append(all.Hooks, spec.Devices[0].ContainerEdits.Hooks...)
	}
	return all, nil
}
