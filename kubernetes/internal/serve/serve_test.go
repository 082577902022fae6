// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nova-rt/kubernetes/internal/bandwidth"
)

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer
}

func TestHealthSaysWhatHasBeenWrongForLong(t *testing.T) {
	health := &Health{}
	handler := Handler(NewMetrics(nil), health)
	if got := get(handler, "/healthz"); got.Code != http.StatusOK {
		t.Error(got)
	}
	health.Report(errors.New("a group holds too little"))
	if got := get(handler, "/healthz"); got.Code != http.StatusOK {
		t.Error("a problem of a moment is reported")
	}
	health.since = time.Now().Add(-patience)
	health.Report(errors.New("a group holds too little still"))
	got := get(handler, "/healthz")
	if got.Code != http.StatusServiceUnavailable || got.Body.String() != "a group holds too little still\n" {
		t.Error(got)
	}
	health.Report(nil)
	if got := get(handler, "/healthz"); got.Code != http.StatusOK {
		t.Error(got)
	}
}

func TestMetricsDoNotGrowWithTheNode(t *testing.T) {
	capacity := map[int]int64{}
	for pcpu := range 256 {
		capacity[pcpu] = bandwidth.Unit / 2
	}
	metrics := NewMetrics(capacity)
	for range 100 {
		metrics.Time("prepare")(nil)
		metrics.Time("prepare")(errors.New("no room"))
	}
	capacity[7] = bandwidth.Unit / 4
	metrics.SetLeft(capacity)
	text := get(Handler(metrics, &Health{}), "/metrics").Body.String()
	for _, want := range []string{"nova_rt_node_capacity_cpus 128\n", "nova_rt_node_left_cpus 127.75\n",
		"nova_rt_node_fullest_left_ratio 0.25\n",
		`nova_rt_dra_call_seconds_count{call="prepare",result="refused"} 100` + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 60 {
		t.Errorf("there are %d lines", lines)
	}
}
