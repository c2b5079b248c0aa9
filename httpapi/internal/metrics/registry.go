//go:build !js

package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A registry is Prometheus's, with the metrics of Go and of the process.
type registry struct{ *prometheus.Registry }

func newRegistry() registry {
	r := registry{prometheus.NewRegistry()}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func (r registry) counter(name, help string, labels ...string) series {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(c)
	return func(n float64, values ...string) { c.WithLabelValues(values...).Add(n) }
}

func (r registry) gauge(name, help string) series {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	r.MustRegister(g)
	return func(n float64, _ ...string) { g.Add(n) }
}

func (r registry) histogram(name, help string, buckets []float64, label string) series {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
	r.MustRegister(h)
	return func(v float64, values ...string) { h.WithLabelValues(values...).Observe(v) }
}

// collect has f put values at every scrape.
func (r registry) collect(f func(put func(d *desc, v float64, labels ...string))) {
	r.MustRegister(collector(f))
}

func (r registry) handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog:           scrapeLog{log},
		DisableCompression: true,
	})
}

// A scrapeLog logs errors of a scrape, but not that its client has left, which is no error of the
// server.
type scrapeLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) {
	level := slog.LevelError
	for _, x := range v {
		if err, ok := x.(error); ok && errors.As(err, new(*net.OpError)) {
			level = slog.LevelDebug
		}
	}
	l.log.Log(context.Background(), level, strings.TrimSuffix(fmt.Sprintln(v...), "\n"))
}

type collector func(put func(d *desc, v float64, labels ...string))

// Describe sends nothing: which models there are changes.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f collector) Collect(ch chan<- prometheus.Metric) {
	f(func(d *desc, v float64, labels ...string) {
		kind := prometheus.GaugeValue
		if d.counter {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(d.name, d.help, d.labels, nil), kind, v, labels...)
	})
}
