// SPDX-License-Identifier: Apache-2.0

// Package cgroup gives control groups real-time budgets, as nova_rt/virt/cgroup does.
package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Files are the control files of a hierarchy. Groups are named by their path below the
// mount point, without a leading slash; the root group is the empty string.
type Files interface {
	// Read returns the text of a control file without the white space around it.
	Read(group, name string) (string, error)
	// Write makes one write of a control file.
	Write(group, name, text string) error
	// Has returns whether a group has a control file; with an empty name, whether
	// there is such a group.
	Has(group, name string) bool
	// Children returns the groups directly below a group; none if it is gone.
	Children(group string) []string
}

// Dir is a hierarchy that is mounted at a directory.
type Dir string

// Read implements Files.
func (d Dir) Read(group, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(d), group, name))
	if err != nil {
		return "", d.explained(group, name, "reading", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Write implements Files.
func (d Dir) Write(group, name, text string) error {
	// Not os.WriteFile: a control file that is not there must not be created.
	file, err := os.OpenFile(filepath.Join(string(d), group, name), os.O_WRONLY, 0)
	if err != nil {
		return d.explained(group, name, text, err)
	}
	_, err = file.WriteString(text + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return d.explained(group, name, text, err)
	}
	return nil
}

// Has implements Files.
func (d Dir) Has(group, name string) bool {
	_, err := os.Stat(filepath.Join(string(d), group, name))
	return err == nil
}

// Children implements Files.
func (d Dir) Children(group string) []string {
	entries, err := os.ReadDir(filepath.Join(string(d), group))
	if err != nil {
		return nil
	}
	var children []string
	for _, entry := range entries {
		if entry.IsDir() {
			children = append(children, join(group, entry.Name()))
		}
	}
	return children
}

func (d Dir) explained(group, name, action string, err error) error {
	// ENODEV: the group was removed after its file was opened.
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
		return refusal(group, name, action, err)
	}
	if d.Has(group, "") {
		return missingFile(group, name)
	}
	return gone(group)
}

// readLine returns the first line of a control file. Budgets have one only; in a plain file,
// which stands for one in tests, what was written before may follow.
func readLine(files Files, group, name string) (string, error) {
	text, err := files.Read(group, name)
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line), err
}

func join(group, name string) string {
	if group == "" {
		return name
	}
	return group + "/" + name
}
