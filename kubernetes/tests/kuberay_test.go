// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// rayCluster is one whose head and workers have claims. Ray itself does not run: the node
// is a fake.
const rayCluster = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: claims, namespace: default}
spec:
  rayVersion: 2.46.0
  headGroupSpec:
    rayStartParams: {}
    template: &pod
      metadata:
        annotations: {required-plugins.noderesource.dev/pod: "[nova-rt]"}
      spec:
        terminationGracePeriodSeconds: 1
        resourceClaims: [{name: rt, resourceClaimTemplateName: ray}]
        containers:
        - name: ray
          image: none
          resources: {claims: [{name: rt}], limits: {cpu: "1", memory: 1Gi}}
  workerGroupSpecs:
  - groupName: workers
    replicas: 2
    minReplicas: 1
    maxReplicas: 2
    rayStartParams: {}
    template: *pod
`

func TestPodsOfAnUnmodifiedKubeRayGetTheirClaims(t *testing.T) {
	program := os.Getenv("NOVA_RT_KUBERAY")
	if program == "" {
		t.Skip("takes minutes to build: FULL=1 does")
	}
	n := newNode(t, "ray", 4)
	startKubeRay(t, program)
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "ray"}}
	template.Spec.Spec = claimOf("ray", 30_000, 100_000, 2).Spec
	ctx := context.Background()
	templates := cluster.client.ResourceV1().ResourceClaimTemplates(namespace)
	if _, err := templates.Create(ctx, template, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	clusters := cluster.dynamic.Resource(schema.GroupVersionResource{
		Group: "ray.io", Version: "v1", Resource: "rayclusters"}).Namespace(namespace)
	var made unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(rayCluster), &made.Object); err != nil {
		t.Fatal(err)
	}
	n.wait(func() error {
		_, err := clusters.Create(ctx, &made, metav1.CreateOptions{})
		return err
	})
	// A head and two workers, of 30% on two pCPUs each. Pods that are scheduled at once may
	// all be on the same two.
	n.wait(func() error { return total(n, 6*314_572) })
	if err := clusters.Delete(ctx, "claims", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	n.wait(n.nothingLeft)
	n.wait(func() error { return noClaimsLeft("claims-") })
	if err := templates.Delete(ctx, "ray", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

var kinds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// startKubeRay runs the operator, with its kinds, for the length of a test.
func startKubeRay(t *testing.T, program string) {
	t.Helper()
	crds, _ := filepath.Glob(filepath.Join(os.Getenv("NOVA_RT_KUBERAY_KINDS"), "*.yaml"))
	for _, file := range crds {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kind unstructured.Unstructured
		if err := yaml.Unmarshal(text, &kind.Object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeKind(t, kind.GetName()) })
		_, err = cluster.dynamic.Resource(kinds).Create(context.Background(), &kind, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	operator, err := start("kuberay", program, "--kubeconfig", path("admin.conf"), "--enable-leader-election=false",
		"--metrics-addr", "127.0.0.1:"+freePort(), "--health-probe-bind-address", "127.0.0.1:"+freePort())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = operator.stop(syscall.SIGKILL)
		if t.Failed() {
			log, _ := os.ReadFile(operator.log)
			t.Logf("the operator said:\n%s", log)
		}
	})
}

// removeKind removes a kind from the cluster, with all that is of it.
func removeKind(t *testing.T, name string) {
	err := eventually(func() error {
		err := cluster.dynamic.Resource(kinds).Delete(context.Background(), name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the kind %s is still there: %w", name, errors.Join(err, errNotYet))
	})
	if err != nil {
		t.Error(err)
	}
}

// noClaimsLeft wants no claim whose name begins so.
func noClaimsLeft(prefix string) error {
	found, err := cluster.client.ResourceV1().ResourceClaims(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range found.Items {
		if len(claim.Name) > len(prefix) && claim.Name[:len(prefix)] == prefix {
			return fmt.Errorf("the claim %s is left: %w", claim.Name, errNotYet)
		}
	}
	return nil
}
