// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// driverImage is as deploy/kustomization.yaml has it.
const driverImage = "localhost/nova-rt-dra:latest"

// What the image consists of.
var driverPrograms = []string{"nova-rt-dra", "nova-rt-gate"}

func TestImageOfTheDockerfileHasTheStaticProgramsAndNothingElse(t *testing.T) {
	root := t.TempDir()
	image := readDriverImage(t)
	if !slices.Equal(image.tags, []string{driverImage}) || !slices.Equal(image.entrypoint, []string{"/nova-rt-dra"}) {
		t.Errorf("the image is %v and runs %v", image.tags, image.entrypoint)
	}
	for name, text := range image.files {
		if !slices.Contains(driverPrograms, name) {
			t.Errorf("there is /%s in it", name)
			continue
		}
		isStatic(t, name, text)
		if err := os.WriteFile(filepath.Join(root, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	help, err := inRoot(root, "/nova-rt-dra", "--help")
	if err != nil || !strings.Contains(help, "-placement-policy") {
		t.Errorf("the driver's help is %q (%v)", help, err)
	}
	// It sees nothing of a container there, so nothing may be started.
	said, err := inRoot(root, "/nova-rt-gate", "--runtime=1", "--period=2")
	var ended *exec.ExitError
	if !errors.As(err, &ended) || !strings.HasPrefix(said, "nova-rt-gate: ") {
		t.Errorf("the gate says %q (%v)", said, err)
	}
}

// isStatic wants a program that needs no file besides itself.
func isStatic(t *testing.T, name string, text []byte) {
	t.Helper()
	program, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	libraries, err := program.ImportedLibraries()
	if len(libraries) > 0 {
		t.Errorf("%s needs %v (%v)", name, libraries, err)
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			t.Errorf("%s needs a dynamic loader", name)
		}
	}
}

// inRoot runs a program as a container of only these files does.
func inRoot(root, program string, arguments ...string) (string, error) {
	command := exec.Command(program, arguments...)
	command.Dir, command.Env = "/", []string{}
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	output, err := command.CombinedOutput()
	return string(output), err
}

// savedImage is what an archive has of an image.
type savedImage struct {
	tags, entrypoint []string
	// The files that are no directories, by their path.
	files map[string][]byte
}

// readDriverImage reads the image that the Dockerfile makes.
func readDriverImage(t *testing.T) savedImage {
	t.Helper()
	name := os.Getenv("NOVA_RT_DRIVER_IMAGE")
	if name == "" {
		t.Skip("takes a minute to build: FULL=1 does")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	archive := readArchive(t, text)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(archive["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("%s (%v)", archive["manifest.json"], err)
	}
	var config struct{ Config struct{ Entrypoint []string } }
	if err := json.Unmarshal(archive[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	image := savedImage{manifest[0].RepoTags, config.Config.Entrypoint, map[string][]byte{}}
	for _, layer := range manifest[0].Layers {
		for name, text := range readArchive(t, archive[layer]) {
			image.files[name] = text
		}
	}
	if len(image.files) != len(driverPrograms) {
		t.Errorf("the image has %d files", len(image.files))
	}
	return image
}

func readArchive(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	reader := tar.NewReader(bytes.NewReader(text))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}
