// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// driverNamespace is where the DaemonSet is.
const driverNamespace = "nova-rt"

// runDriverInPod runs the driver as the DaemonSet has it, in the place of the node's service:
// from the Dockerfile's image, with those rights and mounts. The pod is made here, as the DaemonSets'
// controller would. It has the node's network, as there is no other, and the node's
// credentials, as the API server has no address that its own certificate names here.
//
// end gives the node its service again.
func (w *worker) runDriverInPod() (end func()) {
	w.Helper()
	ctx := context.Background()
	found, err := cluster.client.AppsV1().DaemonSets(driverNamespace).Get(ctx, "nova-rt-dra", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: found.Spec.Template.ObjectMeta, Spec: found.Spec.Template.Spec}
	pod.Name, pod.Spec.NodeName, pod.Spec.HostNetwork = "nova-rt-dra-"+workerNode, workerNode, true
	driver := &pod.Spec.Containers[0]
	driver.Image, driver.ImagePullPolicy = driverImage, corev1.PullNever
	const credentials = "/etc/nova-rt-dra.conf"
	driver.Args = append(driver.Args, "--kubeconfig="+credentials)
	driver.VolumeMounts = append(driver.VolumeMounts, corev1.VolumeMount{
		Name: "credentials", MountPath: credentials, ReadOnly: true})
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "credentials", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: credentials, Type: ptr.To(corev1.HostPathFile)}}})

	w.must("ctr --namespace k8s.io images import /srv/worker/driver.tar && systemctl stop nova-rt-dra")
	if _, err := cluster.client.CoreV1().Pods(driverNamespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	remove := func(patience int64) {
		_ = cluster.client.CoreV1().Pods(driverNamespace).Delete(ctx, pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &patience})
	}
	// The next machine has a node of the same name.
	w.Cleanup(func() { remove(0) })
	w.wait(func() error { return ready(pod.Name) })
	return func() {
		remove(10)
		w.wait(func() error {
			_, err := cluster.client.CoreV1().Pods(driverNamespace).Get(ctx, pod.Name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return errors.Join(err, errNotYet)
			}
			return nil
		})
		w.must("systemctl start nova-rt-dra")
	}
}

// ready wants a pod of the driver to answer as its probe has it.
func ready(name string) error {
	pod, err := cluster.client.CoreV1().Pods(driverNamespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("the pod %s is not ready: %v: %w", name, pod.Status.ContainerStatuses, errNotYet)
}
