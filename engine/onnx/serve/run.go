package serve

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"quern/engine/onnx"
	"quern/engine/wholefile"
	fonnx "quern/formats/onnx"
	"quern/kernels/threads"
)

// RunOptions say what Run runs.
type RunOptions struct {
	Path    string            // a graph, or a folder whose model is one
	Inputs  map[string]string // .npy files by the names of inputs
	Output  string            // folder the outputs are written to as .npy; "" writes none
	Threads int               // 0 means physical cores
}

// A Result describes an output. Those of sequences have their place behind
// the name, as "x[2]".
type Result struct {
	Name, Type string
	Shape      []int
	// Of the numbers that are finite; NaN where there are none.
	Min, Mean, Max float64
	Infinite       int    // numbers that are not
	File           string // where it was written to, or ""
}

// An InputsError says which inputs of a graph were not given, or do not exist.
type InputsError struct {
	Missing []Value
	Unknown []string
	Known   []Value // all there are
}

func (e *InputsError) Error() string {
	var s []string
	if len(e.Unknown) > 0 {
		s = append(s, fmt.Sprintf("there is no input %s", strings.Join(e.Unknown, ", ")))
	}
	list := e.Missing
	if len(list) > 0 {
		s = append(s, "these inputs are missing:")
	} else {
		list = e.Known
		s[0] += "; there are"
	}
	named := false
	for _, v := range list {
		s = append(s, fmt.Sprintf("  %s: %s %s", v.Name, v.Type, v.Shape))
		named = named || strings.ContainsFunc(v.Shape, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '?' })
	}
	if named {
		s = append(s, "A name in a shape is a size you choose, the same wherever it stands; ? is any size.")
	}
	return strings.Join(s, "\n")
}

// Run runs a graph once. Operators quern lacks and inputs that were not given
// are errors before any work. Errors for inputs are *InputsError.
func Run(ctx context.Context, o RunOptions) ([]Result, error) {
	f, ok, err := find(o.Path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s is no ONNX model", fonnx.ErrFormat, o.Path)
	}
	m, err := fonnx.Open(f.main)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if err := lacks(m); err != nil {
		return nil, err
	}
	if err := checkInputs(m.Graph, o.Inputs); err != nil {
		return nil, err
	}
	in := make(map[string]*onnx.Tensor)
	for _, name := range slices.Sorted(maps.Keys(o.Inputs)) {
		if in[name], err = readArray(o.Inputs[name]); err != nil {
			return nil, fmt.Errorf("input %q: %w", name, err)
		}
	}
	if o.Threads <= 0 {
		o.Threads = threads.Cores()
	}
	pool := threads.NewPool(o.Threads)
	defer pool.Close()
	s, err := onnx.New(m, onnx.Options{Pool: pool})
	if err != nil {
		return nil, err
	}
	out, err := s.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	w := arrayWriter{dir: o.Output, used: make(map[string]bool)}
	for _, v := range m.Graph.Outputs {
		if err := w.add(v.Name, out[v.Name]); err != nil {
			return nil, err
		}
	}
	return w.list, nil
}

func checkInputs(g *fonnx.Graph, given map[string]string) error {
	e := &InputsError{Known: valuesOf(g.Inputs)}
	for _, v := range g.Asked() {
		if given[v.Name] == "" && v.Type.Kind != fonnx.KindOptional {
			e.Missing = append(e.Missing, valuesOf([]fonnx.Value{v})...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(g.Inputs, func(v fonnx.Value) bool { return v.Name == name }) {
			e.Unknown = append(e.Unknown, strconv.Quote(name))
		}
	}
	if len(e.Missing)+len(e.Unknown) > 0 {
		return e
	}
	return nil
}

func readArray(path string) (*onnx.Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return onnx.ReadNPY(data)
}

// An arrayWriter describes outputs and writes them into a folder.
type arrayWriter struct {
	dir  string
	used map[string]bool // names of files, in small letters
	list []Result
}

func (w *arrayWriter) add(name string, t *onnx.Tensor) error {
	if t.Seq != nil {
		for i, e := range t.Seq {
			if err := w.add(fmt.Sprintf("%s[%d]", name, i), e); err != nil {
				return err
			}
		}
		return nil
	}
	if t.Type == fonnx.Undefined { // an optional without a value
		w.list = append(w.list, Result{Name: name, Type: "nothing", Min: math.NaN(), Mean: math.NaN(), Max: math.NaN()})
		return nil
	}
	r := Result{Name: name, Type: t.Type.String(), Shape: t.Shape}
	r.measure(t)
	if w.dir != "" && t.Type != fonnx.String {
		if err := os.MkdirAll(w.dir, 0o755); err != nil {
			return err
		}
		r.File = filepath.Join(w.dir, w.file(name))
		if err := writeArray(r.File, t); err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
	}
	w.list = append(w.list, r)
	return nil
}

// file makes a file's name of an output's, which may hold anything.
func (w *arrayWriter) file(name string) string {
	safe := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, name), ".")
	if len(safe) > 100 {
		safe = safe[:100]
	}
	base := safe
	for n := 2; safe == "" || w.used[strings.ToLower(safe)]; n++ {
		safe = fmt.Sprintf("%s-%d", base, n)
	}
	w.used[strings.ToLower(safe)] = true
	return safe + ".npy"
}

func writeArray(path string, t *onnx.Tensor) error {
	return wholefile.Write(path, func(f *os.File) error { return onnx.WriteNPY(f, t) })
}

// measure finds the least, the mean and the largest number of t.
func (r *Result) measure(t *onnx.Tensor) {
	sum, n := 0.0, 0
	r.Min, r.Max = math.Inf(1), math.Inf(-1)
	see := func(v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.Infinite++
			return
		}
		r.Min, r.Max = min(r.Min, v), max(r.Max, v)
		sum += v
		n++
	}
	for _, v := range t.F {
		see(float64(v))
	}
	for _, v := range t.D {
		see(v)
	}
	for _, v := range t.I {
		if t.Type == fonnx.Uint64 {
			see(float64(uint64(v)))
		} else {
			see(float64(v))
		}
	}
	r.Mean = sum / float64(n)
	if n == 0 {
		r.Min, r.Mean, r.Max = math.NaN(), math.NaN(), math.NaN()
	}
}
