// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nova-rt/kubernetes/internal/reservation"
)

func TestRecordOfAnEarlierDriverGetsTheGate(t *testing.T) {
	records := Records{Dir: t.TempDir(), Gate: "/var/lib/kubelet/plugins/nova-rt.cpu/nova-rt-gate"}
	reserved := Reserved{UID: "u-1", Pod: "p", PCPUs: []int{0, 1},
		Reservation: reservation.Reservation{Runtime: 30_000, Period: 100_000, VCPUs: 2},
		Init:        reservation.Init{Policy: "fifo", Priority: 10}}
	if err := records.Write(reserved); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(records.Dir, "nova-rt.cpu-claim_u-1.json")
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var spec map[string]any
	if err := json.Unmarshal(written, &spec); err != nil {
		t.Fatal(err)
	}
	edits := spec["devices"].([]any)[0].(map[string]any)["containerEdits"].(map[string]any)
	delete(edits, "hooks")
	delete(edits, "mounts")
	earlier, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, earlier, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := records.Renew(); err != nil {
		t.Fatal(err)
	}
	if renewed, err := os.ReadFile(path); err != nil || string(renewed) != string(written) {
		t.Errorf("it is %s, not %s (%v)", renewed, written, err)
	}
	for _, word := range []string{`"hookName": "startContainer"`, `"--pcpus=0,1"`, `"--policy=fifo"`, records.Gate} {
		if !strings.Contains(string(written), word) {
			t.Errorf("%s is not in %s", word, written)
		}
	}
}

func TestWhatNoClaimCanBeCalledIsNotRecorded(t *testing.T) {
	records := Records{Dir: t.TempDir()}
	for _, uid := range []string{"u-1", "", "../u-1", "u\x00", strings.Repeat("u", 300)} {
		if reserved, err := records.Get(uid); reserved != nil || err != nil {
			t.Errorf("%.10q is %v, %v", uid, reserved, err)
		}
	}
}
