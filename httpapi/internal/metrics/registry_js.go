package metrics

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A registry counts and writes what Prometheus's does, whose library would be a seventh of
// the program in a browser and take a third of its start.
type registry struct {
	mu       sync.Mutex
	families map[string]*family
	reports  []func(put func(d *desc, v float64, labels ...string))
}

// A family is all that has one name.
type family struct {
	desc
	kind    string
	buckets []float64 // of a histogram, upper bounds
	values  map[string]*value
}

// A value is one line or, of a histogram, one for each of its buckets and two more.
type value struct {
	n     float64  // of a histogram, the sum
	under []uint64 // observations that are no more than the bucket, and not in one before
	count uint64
}

func newRegistry() *registry { return &registry{families: map[string]*family{}} }

func (r *registry) counter(name, help string, labels ...string) series {
	return r.series(&family{desc: desc{name, help, labels, true}, kind: "counter"})
}

func (r *registry) gauge(name, help string) series {
	add := r.series(&family{desc: desc{name, help, nil, false}, kind: "gauge"})
	add(0)
	return add
}

func (r *registry) histogram(name, help string, buckets []float64, label string) series {
	return r.series(&family{desc: desc{name, help, []string{label}, false}, kind: "histogram", buckets: buckets})
}

func (r *registry) series(f *family) series {
	f.values = map[string]*value{}
	r.families[f.name] = f
	return func(n float64, values ...string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		f.add(n, values)
	}
}

// collect has f put values at every scrape.
func (r *registry) collect(f func(put func(d *desc, v float64, labels ...string))) {
	r.reports = append(r.reports, f)
}

func (f *family) add(n float64, values []string) {
	key := f.line(values)
	v := f.values[key]
	if v == nil {
		v = &value{under: make([]uint64, len(f.buckets))}
		f.values[key] = v
	}
	v.n += n
	v.count++
	if i, _ := slices.BinarySearch(f.buckets, n); i < len(f.buckets) {
		v.under[i]++
	}
}

var escapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)

// line writes labels with their values, ordered by label: a="x",b="y".
func (f *family) line(values []string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = f.labels[i] + `="` + escapes.Replace(v) + `"`
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func (r *registry) handler(*slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Write(r.text())
	})
}

// text is the text format of Prometheus, version 0.0.4.
func (r *registry) text() []byte {
	all := maps.Clone(r.families)
	for _, report := range r.reports {
		report(func(d *desc, v float64, labels ...string) {
			f := all[d.name]
			if f == nil {
				f = &family{desc: *d, kind: "gauge", values: map[string]*value{}}
				if d.counter {
					f.kind = "counter"
				}
				all[d.name] = f
			}
			f.add(v, labels)
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		if len(f.values) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(f.help), name, f.kind)
		for _, labels := range slices.Sorted(maps.Keys(f.values)) {
			f.write(&b, labels)
		}
	}
	return b.Bytes()
}

func (f *family) write(b *bytes.Buffer, labels string) {
	v := f.values[labels]
	put := func(suffix, labels string, n float64) {
		if labels != "" {
			labels = "{" + labels + "}"
		}
		fmt.Fprintf(b, "%s%s%s %s\n", f.name, suffix, labels, strconv.FormatFloat(n, 'g', -1, 64))
	}
	if f.kind != "histogram" {
		put("", labels, v.n)
		return
	}
	sum := uint64(0)
	for i, bound := range f.buckets {
		sum += v.under[i]
		put("_bucket", labels+`,le="`+strconv.FormatFloat(bound, 'g', -1, 64)+`"`, float64(sum))
	}
	put("_bucket", labels+`,le="+Inf"`, float64(v.count))
	put("_sum", labels, v.n)
	put("_count", labels, float64(v.count))
}
