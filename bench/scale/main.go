// Command scale looks for work that grows faster than what it works on. Each probe does one
// piece of work on an input of n, 4n and 16n; a table says what CPU time each took and
// by which power of n it grew between the last two. It is CPU time of the
// process, so the table holds on a busy machine. Run it from the root of the repository:
//
//	go run ./bench/scale -fixtures ../shared/fixtures
//
// A probe that grew by more than the power -most is a PROBLEM and makes the exit status 1.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// A probe is one piece of work.
type probe struct {
	area, name string
	variant    string // one of several that do the same work: a vocabulary, a template, a format
	n          int    // the smallest input
	unit       string // what n counts
	// make prepares the work on an input of n, and is not measured.
	make func(n int) (work func() error, err error)
}

// areas make the probes, with the folder of fixtures.
var areas = []func(fixtures string) ([]probe, error){tokenizers, dialogues, replies, grammars, speech}

type options struct {
	fixtures, only string
	most           float64
	larger         int
	longest        time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.fixtures, "fixtures", filepath.Join("..", "shared", "fixtures"), "`folder` with vocabularies and chat templates")
	flag.StringVar(&o.only, "only", "", "run only the probes whose area and name contain this")
	flag.Float64Var(&o.most, "most", 1.6, "power of n by which work may grow")
	flag.IntVar(&o.larger, "larger", 1, "multiplies all n")
	flag.DurationVar(&o.longest, "longest", 20*time.Second, "CPU time after which larger inputs are not tried")
	flag.Parse()
	must.End("scale", run(os.Stdout, o))
}

func run(out io.Writer, o options) (err error) {
	defer must.Catch(&err)
	fmt.Fprintf(out, "%s, %d CPUs; CPU time of the process, best of up to three runs. Of several that do the same work: the slowest, and what grew fastest.\n\n", runtime.Version(), runtime.NumCPU())
	fmt.Fprint(out, "| area | work | n | of | ms of n | of 4n | of 16n | grows as | MB allocated, of 16n | fastest growth |\n|---|---|---|---|---:|---:|---:|---:|---:|---|\n")
	var list []probe
	for _, of := range areas {
		list = append(list, must.Get(of(o.fixtures))...)
	}
	for i := range list {
		list[i].n *= o.larger
	}
	list = slices.DeleteFunc(list, func(p probe) bool { return !strings.Contains(p.area+", "+p.name+", "+p.variant, o.only) })
	slices.SortStableFunc(list, func(a, b probe) int { return cmp.Or(cmp.Compare(a.area, b.area), cmp.Compare(a.name, b.name)) })
	problems := 0
	for len(list) > 0 {
		same := slices.IndexFunc(list, func(p probe) bool { return p.area != list[0].area || p.name != list[0].name })
		if same < 0 {
			same = len(list)
		}
		problems += must.Get(row(out, list[:same], o))
		list = list[same:]
	}
	if problems > 0 {
		return fmt.Errorf("%d grow faster than n^%.2f", problems, o.most)
	}
	return nil
}

// row measures probes that do the same work and writes what was found of them. It returns how many grow too fast.
func row(out io.Writer, list []probe, o options) (problems int, err error) {
	var slowest, fastest result
	var bad []string
	for _, p := range list {
		r, err := measure(p, o.longest)
		if err != nil {
			fmt.Fprintf(out, "| %s | %s | %d %s | %s | | | | | | %v |\n", p.area, p.name, p.n, p.unit, p.variant, err)
			continue
		}
		if r.last() > slowest.last() {
			slowest = r
		}
		if r.power > fastest.power {
			fastest = r
		}
		if r.power > o.most {
			bad = append(bad, fmt.Sprintf("PROBLEM %s n^%.2f (%s ms)", p.variant, r.power, strings.ReplaceAll(r.cells(), " |", ",")))
		}
	}
	of := fmt.Sprintf("%s, of %d", slowest.variant, len(list))
	note := fmt.Sprintf("n^%.2f %s", fastest.power, fastest.variant)
	if len(bad) > 0 {
		note = strings.Join(bad, "; ")
	}
	_, err = fmt.Fprintf(out, "| %s | %s | %d %s | %s | %s | n^%.2f | %.1f | %s |\n", list[0].area, list[0].name, list[0].n, list[0].unit, of, slowest.cells(), slowest.power, slowest.allocated/1e6, note)
	return len(bad), err
}

// A result is the CPU time of an input of n, of 4n and so on.
type result struct {
	probe
	took      []time.Duration
	power     float64 // of n by which the last grew from the one before
	allocated float64 // bytes, of the last
}

// steps is how many inputs there are.
const steps = 3

func measure(p probe, longest time.Duration) (r result, err error) {
	r.probe = p
	for n := p.n; len(r.took) < steps; n *= 4 {
		work, err := p.make(n)
		if err != nil {
			return r, err
		}
		took, allocated, err := best(work, longest)
		if err != nil {
			return r, fmt.Errorf("n = %d: %w", n, err)
		}
		r.took, r.allocated = append(r.took, took), allocated
		if took > longest {
			break
		}
	}
	if k := len(r.took); k > 1 {
		r.power = math.Log(float64(r.took[k-1])/float64(max(r.took[k-2], 1))) / math.Log(4)
	} else {
		r.power = math.Inf(1)
	}
	return r, nil
}

// best is the least CPU time of three runs, of fewer where they are long; what is too short for the clock
// is done several times.
func best(work func() error, longest time.Duration) (_ time.Duration, allocated float64, err error) {
	var all []time.Duration
	times := 1
	for len(all) < 3 {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		used := stat.CPUTime()
		for range times {
			if err := work(); err != nil {
				return 0, 0, err
			}
		}
		used = stat.CPUTime() - used
		runtime.ReadMemStats(&after)
		if used < 5*time.Millisecond && times < 1<<20 {
			times *= 4
			continue
		}
		all = append(all, used/time.Duration(times))
		allocated = float64(after.TotalAlloc-before.TotalAlloc) / float64(times)
		if used > longest/4 {
			break
		}
	}
	return slices.Min(all), allocated, nil
}

// last is the CPU time of the largest input.
func (r result) last() time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[len(r.took)-1]
}

func (r result) cells() string {
	var cells [steps]string
	for i := range cells {
		cells[i] = "–"
		if i < len(r.took) {
			cells[i] = fmt.Sprintf("%.3g", float64(r.took[i])/1e6)
		}
	}
	return strings.Join(cells[:], " | ")
}
