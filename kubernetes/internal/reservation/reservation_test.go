// SPDX-License-Identifier: Apache-2.0

package reservation

import (
	"encoding/json"
	"errors"
	"testing"

	"nova-rt/kubernetes/internal/testdata"
)

// check wants a sentence of the table, or none.
func check(t *testing.T, what any, err error, sentence string) {
	t.Helper()
	var refusal *InvalidError
	switch {
	case err == nil && sentence == "":
	case err == nil:
		t.Errorf("%v is not refused, but should be: %s", what, sentence)
	case !errors.As(err, &refusal) || refusal.Sentence != sentence:
		t.Errorf("%v:\n got %s\nwant %s", what, err, sentence)
	}
}

func TestLimitsAndSentencesArePythons(t *testing.T) {
	for _, c := range testdata.Arithmetic(t).Reservation {
		made, err := New(c.RuntimeUS, c.PeriodUS, c.VCPUs)
		check(t, c, err, c.Sentence)
		if err == nil && made.Bandwidth() != c.Bandwidth {
			t.Errorf("%v has bandwidth %d", c, made.Bandwidth())
		}
	}
}

func TestCapIsPythons(t *testing.T) {
	for _, c := range testdata.Arithmetic(t).Cap {
		check(t, c, Reservation{c.RuntimeUS, c.PeriodUS, c.VCPUs}.CheckCap(c.Cap), c.Sentence)
	}
}

func TestNumbersArePythons(t *testing.T) {
	for _, c := range testdata.Arithmetic(t).Number {
		got, err := parseNumber(Runtime, c.Value)
		check(t, string(c.Value), err, c.Sentence)
		if err == nil && got != c.Number {
			t.Errorf("%s is %d, not %d", c.Value, c.Number, got)
		}
	}
}

func TestPolicyOfInitIsPythons(t *testing.T) {
	for _, c := range testdata.Arithmetic(t).Init {
		values := map[string]json.RawMessage{}
		if c.Policy != nil {
			values[Policy] = c.Policy
		}
		if c.Priority != nil {
			values[Priority] = c.Priority
		}
		_, err := parseInit(values)
		check(t, values, err, c.Sentence)
	}
}

func TestParametersOfAClaim(t *testing.T) {
	head := `{"apiVersion": "nova-rt.cpu/v1", "kind": "Reservation"`
	for _, c := range []struct{ text, sentence string }{
		{head + `, "cpu.rt_runtime_us": 30000, "cpu.rt_period_us": "100000"}`, ""},
		{`[]`, "The parameters of the claim are no mapping: give cpu.rt_runtime_us and cpu.rt_period_us."},
		{`{"cpu.rt_runtime_us": 30000, "cpu.rt_period_us": 100000}`,
			"The parameters of the claim are not of this driver: give apiVersion nova-rt.cpu/v1 and kind Reservation."},
		{head + `, "cpu.rt_runtime_us": 30000}`,
			"cpu.rt_period_us is missing in the parameters of the claim: set both cpu.rt_runtime_us and cpu.rt_period_us."},
		{head + `}`,
			"cpu.rt_runtime_us is missing in the parameters of the claim: set both cpu.rt_runtime_us and cpu.rt_period_us."},
		{head + `, "cpu.rt_runtime": 30000, "cpu.rt_period_us": 100000}`,
			"There is no parameter 'cpu.rt_runtime': give cpu.rt_runtime_us and cpu.rt_period_us, " +
				"and if wanted cpu.rt_policy and cpu.rt_priority."},
	} {
		_, _, err := Parse([]byte(c.text), 2)
		check(t, c.text, err, c.sentence)
	}
}
