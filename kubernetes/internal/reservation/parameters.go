// SPDX-License-Identifier: Apache-2.0

package reservation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"nova-rt/kubernetes/internal/policy"
)

// APIVersion and Kind of the opaque parameters of a claim.
const (
	APIVersion = "nova-rt.cpu/v1"
	Kind       = "Reservation"
)

var known = []string{"apiVersion", "kind", Runtime, Period, Policy, Priority}

// Init is the scheduling policy under which a container's init is started; the zero
// value leaves it as it is.
type Init struct {
	Policy   string `json:"policy,omitempty"`
	Priority int64  `json:"priority,omitempty"`
}

// Parse returns the reservation and the policy of the opaque parameters of a claim with
// so many vCPUs.
func Parse(raw []byte, vcpus int64) (Reservation, Init, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return Reservation{}, Init{}, invalid("The parameters of the claim are no mapping: "+
			"give %s and %s.", Runtime, Period)
	}
	if err := checkNames(values); err != nil {
		return Reservation{}, Init{}, err
	}
	runtime, err := parseNumber(Runtime, values[Runtime])
	if err != nil {
		return Reservation{}, Init{}, err
	}
	period, err := parseNumber(Period, values[Period])
	if err != nil {
		return Reservation{}, Init{}, err
	}
	wanted, err := New(runtime, period, vcpus)
	if err != nil {
		return Reservation{}, Init{}, err
	}
	init, err := parseInit(values)
	return wanted, init, err
}

// checkNames wants both times and nothing that is not known: a misspelt name would
// silently mean something else.
func checkNames(values map[string]json.RawMessage) error {
	var version, kind string
	_ = json.Unmarshal(values["apiVersion"], &version)
	_ = json.Unmarshal(values["kind"], &kind)
	if version != APIVersion || kind != Kind {
		return invalid("The parameters of the claim are not of this driver: give apiVersion "+
			"%s and kind %s.", APIVersion, Kind)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			return invalid("There is no parameter %s: give %s and %s, and if wanted %s and %s.",
				shown(quoted(name)), Runtime, Period, Policy, Priority)
		}
	}
	for _, name := range []string{Runtime, Period} {
		if _, given := values[name]; !given {
			return invalid("%s is missing in the parameters of the claim: set both %s and %s.",
				name, Runtime, Period)
		}
	}
	return nil
}

func parseInit(values map[string]json.RawMessage) (Init, error) {
	priority, hasPriority := values[Priority]
	raw, hasPolicy := values[Policy]
	if !hasPolicy {
		if hasPriority {
			return Init{}, invalid("%s is set without %s: set %s to one of %s too.",
				Priority, Policy, Policy, strings.Join(policy.Names(), ", "))
		}
		return Init{}, nil
	}
	var name string
	if json.Unmarshal(raw, &name) != nil || !slices.Contains(policy.Names(), name) {
		return Init{}, invalid("%s is %s: give one of %s.", Policy, shown(raw),
			strings.Join(policy.Names(), ", "))
	}
	if !hasPriority {
		return Init{name, 1}, nil
	}
	number, err := parseNumber(Priority, priority)
	if err != nil {
		return Init{}, err
	}
	if number < 1 || number > policy.MaxPriority {
		return Init{}, invalid("%s is %d, but a priority must be from 1 to %d.",
			Priority, number, policy.MaxPriority)
	}
	return Init{name, number}, nil
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text)
	return raw
}
