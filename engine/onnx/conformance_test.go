package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// wantPassed is the number of cases that passed when the test was last touched.
const wantPassed = 1447

// TestConformance runs ONNX's backend test suite: every case that is not
// excluded must give the outputs of the reference. ONNX_CASE names one case to
// run, or a part of its name.
func TestConformance(t *testing.T) {
	models, err := filepath.Glob(filepath.Join(fixtures.Path(t, "onnx"), "*", "*", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	pool := threads.NewPool(2)
	defer pool.Close()
	only := os.Getenv("ONNX_CASE")
	passed, supported, total, out := 0, 0, 0, 0
	missing := make(map[string]int)
	for _, path := range models {
		name := filepath.Base(filepath.Dir(path))
		if !strings.Contains(name, only) {
			continue
		}
		total++
		if reason(name) != "" {
			out++
			continue
		}
		t.Run(name, func(t *testing.T) {
			lacks, err := runCase(path, pool)
			for _, op := range lacks {
				missing[op]++
			}
			if len(lacks) > 0 {
				return
			}
			supported++
			if err != nil {
				t.Error(err)
				return
			}
			passed++
		})
	}
	t.Logf("passed %d of %d supported of %d in all, %d of them excluded", passed, supported, total, out)
	for _, op := range slices.Sorted(maps.Keys(missing)) {
		t.Logf("missing: %s, in %d cases", op, missing[op])
	}
	if only == "" && passed < wantPassed {
		t.Errorf("passed %d cases, want %d or more", passed, wantPassed)
	}
}

// runCase runs a case with all its sets of data. It returns the operators that
// are missing, or what went wrong.
func runCase(path string, pool *threads.Pool) (missing []string, err error) {
	m, err := onnx.Open(path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	s, err := run.New(m, run.Options{Pool: pool, Limit: 1 << 30})
	if err != nil {
		if _, list, ok := strings.Cut(err.Error(), "missing operators "); ok && errors.Is(err, onnx.ErrUnsupported) {
			return strings.Split(list, ", "), nil
		}
		return nil, err
	}
	sets, err := filepath.Glob(filepath.Join(filepath.Dir(path), "test_data_set_*"))
	if err != nil || len(sets) == 0 {
		return nil, fmt.Errorf("no data: %v", err)
	}
	for _, set := range sets {
		inputs := make(map[string]*run.Tensor)
		for i, v := range m.Graph.Inputs {
			switch t, err := item(set, "input", i, &v.Type); {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return nil, err
			default:
				inputs[v.Name] = t
			}
		}
		// Twice: the second run takes the memory of the first.
		for range 2 {
			got, err := s.Run(context.Background(), inputs)
			if err != nil {
				return nil, err
			}
			for i, v := range m.Graph.Outputs {
				want, err := item(set, "output", i, &v.Type)
				if err != nil {
					return nil, err
				}
				if err := compare(got[v.Name], want, allowed(filepath.Base(filepath.Dir(path)))); err != nil {
					return nil, fmt.Errorf("output %d, %s: %w", i, v.Name, err)
				}
			}
		}
	}
	return nil, nil
}

// item reads a value of a case.
func item(set, what string, i int, of *onnx.Type) (*run.Tensor, error) {
	data, err := os.ReadFile(filepath.Join(set, fmt.Sprintf("%s_%d.pb", what, i)))
	if err != nil {
		return nil, err
	}
	it, err := onnx.ParseItem(data, of.Kind)
	if err != nil {
		return nil, err
	}
	return fromItem(it)
}

func fromItem(it *onnx.Item) (*run.Tensor, error) {
	switch {
	case it.Tensor != nil:
		return run.FromFile(it.Tensor)
	case it.Seq == nil:
		return &run.Tensor{}, nil
	}
	seq := run.NewSequence()
	for _, e := range it.Seq {
		t, err := fromItem(e)
		if err != nil {
			return nil, err
		}
		seq.Seq = append(seq.Seq, t)
	}
	return seq, nil
}

// A tolerance says how far a result may be from the reference: absolute, and
// relative to it.
type tolerance struct{ absolute, relative float64 }

// suite is that of ONNX's own runner; others are those of cases, by the start of
// their names, whose expected values are themselves less exact.
var (
	suite  = tolerance{1e-7, 1e-3}
	others = map[string]tolerance{
		"test_dft_inverse": {1e-5, 1e-3}, // sums of ten float32 up to 100: zeros are off by 2e-7
	}
)

func allowed(name string) tolerance {
	for prefix, tol := range others {
		if strings.HasPrefix(name, prefix) {
			return tol
		}
	}
	return suite
}

func compare(got, want *run.Tensor, tol tolerance) error {
	if got == nil {
		return errors.New("no value")
	}
	if want.Seq != nil {
		if len(got.Seq) != len(want.Seq) {
			return fmt.Errorf("a sequence of %d, want %d", len(got.Seq), len(want.Seq))
		}
		for i := range want.Seq {
			if err := compare(got.Seq[i], want.Seq[i], tol); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	}
	if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("%v of shape %d, want %v of %d", got.Type, got.Shape, want.Type, want.Shape)
	}
	if !slices.Equal(got.S, want.S) {
		return fmt.Errorf("%.200q, want %.200q", got.S, want.S)
	}
	if want.S != nil || want.Type == onnx.Undefined {
		return nil
	}
	g, err := got.Convert(onnx.Double)
	if err != nil {
		return err
	}
	w, err := want.Convert(onnx.Double)
	if err != nil {
		return err
	}
	for i, want := range w.D {
		got := g.D[i]
		switch {
		case math.IsNaN(want) && math.IsNaN(got), want == got:
		case math.Abs(got-want) <= tol.absolute+tol.relative*math.Abs(want):
		default:
			return fmt.Errorf("element %d of shape %d is %v, want %v", i, w.Shape, got, want)
		}
	}
	return nil
}

// excluded are cases, by a pattern of their names, that are not run.
var excluded = []struct{ pattern, reason string }{
	{"test_ada*", "training"},
	{"test_momentum*", "training"},
	{"test_nesterov_momentum", "training"},
	{"test_gradient_of*", "training"},
	{"test_training_dropout", "the numbers are those of numpy's generator"},
	{"test_training_dropout_default*", "the numbers are those of numpy's generator"},
	{"test_bernoulli*", "the numbers are those of numpy's generator"},
	{"test_image_decoder*", "decodes pictures, not tensors"},
	{"test_not_[234]d", "opset 1; New takes 6 and later"},
}

func reason(name string) string {
	for _, e := range excluded {
		if ok, err := filepath.Match(e.pattern, name); ok || err != nil {
			return e.reason
		}
	}
	return ""
}
