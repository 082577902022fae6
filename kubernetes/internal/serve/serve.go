// SPDX-License-Identifier: Apache-2.0

// Package serve has the driver's metrics and its health.
package serve

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nova-rt/kubernetes/internal/bandwidth"
)

// As long as a problem may last before the driver is unhealthy: a killed container's
// group lives on for a moment.
const patience = 30 * time.Second

// Metrics have no label of a claim, a pod or a pCPU: their number does not grow with the
// cluster.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.HistogramVec
	left     prometheus.Gauge
	least    prometheus.Gauge
	capacity prometheus.Gauge
}

// NewMetrics returns the metrics of a node with so much bandwidth.
func NewMetrics(capacity map[int]int64) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nova_rt_dra_call_seconds", Help: "Time that calls of the kubelet and the runtime took.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12),
		}, []string{"call", "result"}),
		capacity: gauge("nova_rt_node_capacity_cpus", "Bandwidth that claims may have, in CPUs."),
		left:     gauge("nova_rt_node_left_cpus", "Bandwidth that claims have left, in CPUs."),
		least:    gauge("nova_rt_node_fullest_left_ratio", "Bandwidth that the fullest pCPU has left."),
	}
	m.registry.MustRegister(m.calls, m.capacity, m.left, m.least)
	m.capacity.Set(cpus(total(capacity)))
	m.SetLeft(capacity)
	return m
}

// Time returns what is called with the result of a call when it ends.
func (m *Metrics) Time(call string) func(error) {
	started := time.Now()
	return func(err error) {
		result := "done"
		if err != nil {
			result = "refused"
		}
		m.calls.WithLabelValues(call, result).Observe(time.Since(started).Seconds())
	}
}

// SetLeft takes what each pCPU has left.
func (m *Metrics) SetLeft(left map[int]int64) {
	var least int64
	if len(left) > 0 {
		least = bandwidth.Unit
	}
	for _, each := range left {
		least = min(least, each)
	}
	m.left.Set(cpus(total(left)))
	m.least.Set(cpus(least))
}

// Health is whether the kernel holds what claims say, and why not.
type Health struct {
	mutex   sync.Mutex
	problem error
	since   time.Time
}

// Report takes what the last look has found.
func (h *Health) Report(problem error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if problem != nil && h.problem == nil {
		h.since = time.Now()
	}
	h.problem = problem
}

// ServeHTTP answers with 200, or with 503 and a sentence.
func (h *Health) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.problem != nil && time.Since(h.since) >= patience {
		http.Error(w, h.problem.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

// Handler serves /healthz and /metrics.
func Handler(m *Metrics, h *Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", h)
	mux.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func total(bandwidths map[int]int64) int64 {
	var sum int64
	for _, each := range bandwidths {
		sum += each
	}
	return sum
}

func cpus(bw int64) float64 { return float64(bw) / float64(bandwidth.Unit) }
