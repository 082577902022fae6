// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"nova-rt/kubernetes/internal/gate"
)

// The specification of the Container Device Interface that has annotations.
const (
	cdiVersion = "0.6.0"
	cdiKind    = Driver + "/claim"
	recordKey  = Driver + "/reserved"
	filePrefix = Driver + "-claim_"
	envPrefix  = "NOVA_RT_CLAIM_"
)

// Records are the claims that are prepared on a node: the CDI files by which the
// container runtime learns of them, and nothing beside these.
//
// They are where reboots remove them, as a reboot ends all containers too; the kubelet
// then prepares its claims again.
type Records struct {
	Dir string
	// Gate is where the node has the gate.
	Gate string
}

type cdiSpec struct {
	Version string      `json:"cdiVersion"`
	Kind    string      `json:"kind"`
	Devices []cdiDevice `json:"devices"`
}

type cdiDevice struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Edits       cdiEdits          `json:"containerEdits"`
}

type cdiEdits struct {
	Env    []string   `json:"env"`
	Hooks  []cdiHook  `json:"hooks"`
	Mounts []cdiMount `json:"mounts"`
}

type cdiHook struct {
	Name      string   `json:"hookName"`
	Path      string   `json:"path"`
	Arguments []string `json:"args"`
}

type cdiMount struct {
	Host      string   `json:"hostPath"`
	Container string   `json:"containerPath"`
	Options   []string `json:"options"`
}

// CDIDevice returns the name by which the kubelet hands a claim to the runtime.
func CDIDevice(uid string) string { return cdiKind + "=" + uid }

// ClaimsOf returns the UIDs of the claims that CDI put into a container's environment.
//
// A pod may write the same into its own: whether a claim is reserved for it must be
// checked.
func ClaimsOf(env []string) []string {
	var uids []string
	for _, variable := range env {
		if rest, ours := strings.CutPrefix(variable, envPrefix); ours {
			uid, _, _ := strings.Cut(rest, "=")
			uids = append(uids, strings.ReplaceAll(uid, "_", "-"))
		}
	}
	return uids
}

// Write records a claim. Whoever reads sees all of it or nothing.
func (r Records) Write(reserved Reserved) error {
	record, err := json.Marshal(reserved)
	if err != nil {
		return err
	}
	device := cdiDevice{Name: reserved.UID, Annotations: map[string]string{recordKey: string(record)}}
	device.Edits = r.edits(reserved)
	text, err := json.MarshalIndent(cdiSpec{cdiVersion, cdiKind, []cdiDevice{device}}, "", "  ")
	if err != nil {
		return err
	}
	return r.replace(r.path(reserved.UID), text)
}

// edits returns what CDI changes of a container: its environment names the claim, and it does
// not start without what the claim reserves.
func (r Records) edits(reserved Reserved) cdiEdits {
	times := reserved.Reservation
	promise := gate.Promise{Runtime: times.Runtime, Period: times.Period, PCPUs: reserved.PCPUs,
		Policy: reserved.Init.Policy, Priority: reserved.Init.Priority}
	return cdiEdits{
		Env: []string{fmt.Sprintf("%s%s=%d/%d", envPrefix, strings.ReplaceAll(reserved.UID, "-", "_"),
			times.Runtime, times.Period)},
		// Its first argument is its name.
		Hooks:  []cdiHook{{"startContainer", gate.Path, append([]string{gate.Program}, promise.Arguments()...)}},
		Mounts: []cdiMount{{r.Gate, gate.Path, []string{"bind", "ro", "nosuid", "nodev"}}},
	}
}

func (r Records) replace(path string, text []byte) error {
	file, err := os.CreateTemp(r.Dir, "."+filePrefix)
	if err != nil {
		return fmt.Errorf("the claim cannot be recorded: %w", err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the claim cannot be recorded: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// Remove forgets a claim, if it is recorded.
func (r Records) Remove(uid string) error {
	err := os.Remove(r.path(uid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the record of the claim cannot be removed: %w", err)
	}
	return nil
}

// Get returns a claim, nil if it is not recorded.
func (r Records) Get(uid string) (*Reserved, error) {
	if strings.ContainsAny(uid, "/\x00") {
		return nil, nil
	}
	reserved, err := readRecord(r.path(uid))
	// A pod may ask for one with a name that no file can have.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) {
		return nil, nil
	}
	return reserved, err
}

// All returns all claims by their UID. What a killed driver has left half written is
// removed, so nobody may write meanwhile.
func (r Records) All() (map[string]Reserved, error) {
	halves, _ := filepath.Glob(filepath.Join(r.Dir, "."+filePrefix+"*"))
	for _, half := range halves {
		_ = os.Remove(half)
	}
	paths, err := filepath.Glob(r.path("*"))
	if err != nil {
		return nil, err
	}
	all := map[string]Reserved{}
	for _, path := range paths {
		reserved, err := readRecord(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[reserved.UID] = *reserved
	}
	return all, nil
}

// Renew writes all claims anew, as this driver writes them: the kubelet prepares a claim once,
// and an earlier driver may have known of no gate, or of another place for it.
func (r Records) Renew() error {
	all, err := r.All()
	if err != nil {
		return err
	}
	for _, reserved := range all {
		if err := r.Write(reserved); err != nil {
			return err
		}
	}
	return nil
}

func (r Records) path(uid string) string {
	return filepath.Join(r.Dir, filePrefix+uid+".json")
}

func readRecord(path string) (*Reserved, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var spec cdiSpec
	var reserved Reserved
	err = json.Unmarshal(text, &spec)
	if err == nil && len(spec.Devices) != 1 {
		err = errors.New("it has not one device")
	}
	if err == nil {
		err = json.Unmarshal([]byte(spec.Devices[0].Annotations[recordKey]), &reserved)
	}
	if err == nil && filepath.Base(path) != filePrefix+reserved.UID+".json" {
		err = errors.New("it is of another claim")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no record of this driver's, remove it and delete the pod of the "+
			"claim: %w", path, err)
	}
	return &reserved, nil
}
