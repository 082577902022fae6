// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestExamplesOfTheDocumentationAreAccepted(t *testing.T) {
	text, err := os.ReadFile("../../doc/source/mano/kubernetes.rst")
	if err != nil {
		t.Fatal(err)
	}
	resources := map[string]schema.GroupVersionResource{
		"Pod":                   {Version: "v1", Resource: "pods"},
		"ResourceClaimTemplate": {Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"},
	}
	blocks := strings.Split(string(text), ".. code-block:: yaml\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("there are %d examples", len(blocks))
	}
	for _, block := range blocks {
		var object unstructured.Unstructured
		if err := yaml.UnmarshalStrict([]byte(indented(block)), &object.Object); err != nil {
			t.Fatal(err)
		}
		_, err := cluster.dynamic.Resource(resources[object.GetKind()]).Namespace(namespace).Create(
			context.Background(), &object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll},
				FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Errorf("%s: %v", object.GetKind(), err)
		}
	}
}

// indented returns the lines of a block up to the first that is not indented.
func indented(block string) string {
	var lines []string
	for line := range strings.SplitSeq(block, "\n") {
		if line != "" && !strings.HasPrefix(line, "   ") {
			break
		}
		lines = append(lines, strings.TrimPrefix(line, "   "))
	}
	return strings.Join(lines, "\n")
}
