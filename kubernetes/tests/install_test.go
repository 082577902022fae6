// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

const deploy = "../deploy"

// install applies what kustomization.yaml names, as "kubectl apply -k" would.
func install() error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(cluster.client))
	kustomization, err := documents(filepath.Join(deploy, "kustomization.yaml"))
	if err != nil {
		return err
	}
	names, _, err := unstructured.NestedStringSlice(kustomization[0].Object, "resources")
	if err != nil || len(names) == 0 {
		return fmt.Errorf("kustomization.yaml names no resources: %w", err)
	}
	for _, name := range names {
		objects, err := documents(filepath.Join(deploy, name))
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := create(mapper, object); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return policiesInForce()
}

func create(mapper *restmapper.DeferredDiscoveryRESTMapper, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	// Strict: a field that does not exist would be dropped without a word.
	_, err = cluster.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()).Create(
		context.Background(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

func documents(name string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if object.Object != nil {
			objects = append(objects, object)
		}
	}
}

// policiesInForce waits until the API server has compiled the policies.
func policiesInForce() error {
	return eventually(func() error {
		_, err := cluster.client.ResourceV1().ResourceClaims("default").Create(context.Background(),
			claimOf("probe", 1, 100, 1), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("a claim of 1 µs is not refused: %w", errors.Join(err, errNotYet))
		}
		return nil
	})
}
