// SPDX-License-Identifier: Apache-2.0

// Package testdata reads the table of cases that Python's unit tests read too.
package testdata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Times are a runtime and a period, and what they come to: a bandwidth or a sentence.
type Times struct {
	RuntimeUS int64  `json:"runtime_us"`
	PeriodUS  int64  `json:"period_us"`
	VCPUs     int64  `json:"vcpus"`
	Bandwidth int64  `json:"bandwidth"`
	Sentence  string `json:"sentence"`
	Cap       int64  `json:"cap"`
}

// Table is nova_rt/tests/unit/arithmetic.json.
type Table struct {
	Bandwidth []Times
	Fraction  []struct {
		Fraction  float64
		Bandwidth int64
	}
	RuntimeCovering []Times `json:"runtime_covering"`
	LongestRuntime  []Times `json:"longest_runtime"`
	Percent         []struct {
		Bandwidth int64
		Text      string
	}
	Reservation []Times
	Cap         []Times
	Number      []struct {
		Value    json.RawMessage
		Number   int64
		Sentence string
	}
	Init []struct {
		Policy   json.RawMessage
		Priority json.RawMessage
		Sentence string
	}
}

// Arithmetic returns the table.
func Arithmetic(t testing.TB) Table {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(here), "../../../nova_rt/tests/unit/arithmetic.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var table Table
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return table
}
