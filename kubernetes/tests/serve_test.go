// SPDX-License-Identifier: Apache-2.0

//go:build serve

package tests

import (
	"encoding/json"
	"io"
	"os"
	"testing"
)

// TestServe keeps the cluster, with one node of four pCPUs, for the tests of others until
// its standard input ends. NOVA_RT_SERVE names the file that says where everything is.
func TestServe(t *testing.T) {
	n := newNode(t, "served", 4)
	text, err := json.Marshal(map[string]string{
		"server":      cluster.server,
		"token":       adminToken,
		"certificate": path("certs/apiserver.crt"),
		"kubeconfig":  path("admin.conf"),
		"node":        n.name,
		"group":       n.groupDir("kubepods"),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := os.Getenv("NOVA_RT_SERVE")
	half := file + ".new"
	if err := os.WriteFile(half, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(half, file); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	n.wait(n.nothingLeft)
}
