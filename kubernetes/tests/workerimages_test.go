// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// writeImages writes an archive, as "docker save" does, of images of one static program each,
// by their names.
func writeImages(file string, images map[string]string) error {
	contents := map[string][]byte{}
	var manifest []map[string]any
	for name, program := range images {
		text, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		layer, err := archive(map[string][]byte{filepath.Base(program): text})
		if err != nil {
			return err
		}
		config, err := json.Marshal(map[string]any{
			"architecture": runtime.GOARCH, "os": "linux",
			"config": map[string]any{"Entrypoint": []string{"/" + filepath.Base(program)}},
			"rootfs": map[string]any{"type": "layers",
				"diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
		})
		if err != nil {
			return err
		}
		contents[name+".tar"], contents[name+".json"] = layer, config
		manifest = append(manifest, map[string]any{"Config": name + ".json",
			"RepoTags": []string{imageOf(name)}, "Layers": []string{name + ".tar"}})
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	contents["manifest.json"] = text
	whole, err := archive(contents)
	if err != nil {
		return err
	}
	return os.WriteFile(file, whole, 0o600)
}

// imageOf returns the name of the image of a program.
func imageOf(program string) string { return "nova-rt.test/" + program + ":1" }

// archive returns a tar of programs.
func archive(files map[string][]byte) ([]byte, error) {
	var whole bytes.Buffer
	writer := tar.NewWriter(&whole)
	for name, text := range files {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(text); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return whole.Bytes(), err
}
