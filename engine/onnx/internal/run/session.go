package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// Options are the parts a Session shares with others, and its limits.
type Options struct {
	Pool *threads.Pool // required; nothing else may use it during New and Run
	// Yield, unless nil, is called between nodes. Others may use the Pool until it
	// returns, but must not wait for this Session then.
	Yield func()
	// Limit bounds the bytes of the values that live at a time in a Run, beside
	// those of the operator that runs; zero means 8 GiB.
	Limit int64
	Seed  uint64 // of random operators that name none
	// Wide leaves outputs of 16-bit floats float32, and takes float32 for such inputs: for callers
	// that compute in it, and whose outputs are inputs of the next Run.
	Wide bool
	// NoFusion runs every node as it is written, for comparison.
	NoFusion bool
}

// A Session is a model that can run, one call at a time. The Model must stay
// open while it is used.
type Session struct {
	model  *onnx.Model
	pool   *threads.Pool
	yield  func() // of Options, never nil
	with   Operators
	funcs  map[string]*onnx.Function
	bodies map[any]*Body // by *onnx.Graph and *onnx.Function
	consts map[*onnx.Tensor]*tensor.Tensor
	Opset  int64
	random *rand.Rand
	plain  bool
	wide   bool           // of Options
	narrow bool           // see Between
	halves map[string]int // by operator; see TakesHalves

	mu      sync.Mutex
	mem     tensor.Memory
	outside *outside             // see Lasting
	kept    map[reflect.Type]any // see Kept
}

const (
	// oldest is the first opset whose operators are run. Before opset 7 operators of
	// two inputs are not broadcast as numpy does, and some have attributes that
	// later ones lack: package element makes them calls of today's.
	//
	// ONNX, Changelog.md, versions 1 to 7.
	oldest = 6
	// maxNesting bounds how deep functions and graphs call each other.
	maxNesting = 64
	// newest stands for the opset of models that name none.
	newest = 28

	defaultLimit = 8 << 30
)

// New prepares a model, computing what depends on constants only. A model that
// uses operators that are missing is refused with their sorted list before
// anything is computed.
func New(m *onnx.Model, o Options, with Operators) (s *Session, err error) {
	defer tensor.Rescue(&err)
	s = &Session{
		model: m, pool: o.Pool, yield: o.Yield, with: with, funcs: make(map[string]*onnx.Function),
		bodies: make(map[any]*Body), consts: make(map[*onnx.Tensor]*tensor.Tensor), kept: make(map[reflect.Type]any), halves: map[string]int{"MatMul": 1, "Gemm": 1},
		Opset: opset(m.Opsets), random: rand.New(rand.NewPCG(o.Seed, 0)), plain: o.NoFusion, wide: o.Wide,
	}
	s.mem.Limit = cmp.Or(max(o.Limit, 0), defaultLimit)
	if s.yield == nil {
		s.yield = func() {}
	}
	versions := []int64{s.Opset}
	for _, f := range m.Functions {
		if v, ok := f.Opsets[""]; ok {
			versions = append(versions, v)
		}
	}
	if v := slices.Min(versions); v < oldest {
		return nil, fmt.Errorf("%w: opset %d, want %d or later", onnx.ErrUnsupported, v, oldest)
	} else if v < 7 {
		s.plain = true // what is fused is written as of opset 7
	}
	s.narrow = readsBits(m.Graph.Nodes)
	for _, f := range m.Functions {
		s.narrow = s.narrow || readsBits(f.Nodes)
		s.funcs[f.Domain+":"+f.Name+":"+f.Overload] = f
	}
	missing := make(map[string]bool)
	s.check(m.Graph.Nodes, missing, make(map[*onnx.Function]bool))
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: opset %d, missing operators %s", onnx.ErrUnsupported, s.Opset,
			strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	if err := s.graph(m.Graph); err != nil {
		return nil, err
	}
	for _, f := range m.Functions {
		if err := s.function(f); err != nil {
			return nil, err
		}
	}
	// What folding left of them lives in the bodies.
	clear(s.consts)
	return s, nil
}

// Define makes n a node of the domain quern that runs do. What it is called begins
// with name.
func (s *Session) Define(n *onnx.Node, name string, do Op) {
	n.Domain, n.Op = "quern", fmt.Sprintf("%s %d", name, len(s.with.Table)+1)
	s.with.Table[OpName(n)] = do
}

func opset(versions map[string]int64) int64 {
	if v := versions[""]; v != 0 {
		return v
	}
	return newest
}

// calls returns the function a node calls, nil for an operator.
func (s *Session) calls(n *onnx.Node) *onnx.Function {
	if len(s.funcs) == 0 {
		return nil
	}
	return s.funcs[n.Domain+":"+n.Op+":"+n.Overload]
}

// check collects the operators that are missing among what nodes may run.
func (s *Session) check(nodes []*onnx.Node, missing map[string]bool, seen map[*onnx.Function]bool) {
	for _, n := range nodes {
		if f := s.calls(n); f == nil {
			if _, ok := s.with.Table[OpName(n)]; !ok {
				name := OpName(n)
				if hint := s.with.Hints[name]; hint != "" {
					name += " (" + hint + ")"
				}
				missing[name] = true
			}
		} else if !seen[f] {
			seen[f] = true
			s.check(f.Nodes, missing, seen)
		}
		for _, a := range n.Attrs {
			if a.G != nil {
				s.check(a.G.Nodes, missing, seen)
			}
		}
	}
}

// Inputs returns the values Run needs. Those with an initializer are left out:
// they may be given as well.
func (s *Session) Inputs() []onnx.Value {
	given := make(map[string]bool)
	for _, t := range s.model.Graph.Initializers {
		given[t.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(s.model.Graph.Inputs), func(v onnx.Value) bool { return given[v.Name] })
}

// Outputs returns the values Run makes.
func (s *Session) Outputs() []onnx.Value { return slices.Clone(s.model.Graph.Outputs) }

// Run computes the outputs of the model. Inputs are checked against what the
// model declares; names that stand for a size must mean the same size in all of
// them. When ctx is done Run ends before the next node. Outputs belong to the
// caller but may share memory with inputs and constants.
func (s *Session) Run(ctx context.Context, inputs map[string]*tensor.Tensor) (out map[string]*tensor.Tensor, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mem.Reset()
	s.pool.Hold()
	defer s.pool.Release()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // files may be cut short while they are mapped
	defer tensor.Rescue(&err)
	g := s.model.Graph
	sc := &scope{s: s, ctx: ctx, body: s.bodies[g], vals: make(map[string]*tensor.Tensor), Opset: s.Opset}
	sizes := make(map[string]size)
	known := 0
	for _, in := range g.Inputs {
		t := inputs[in.Name]
		if t == nil {
			switch {
			case sc.body.Consts[in.Name] != nil:
			case in.Type.Kind == onnx.KindOptional:
				sc.vals[in.Name] = &tensor.Tensor{}
			default:
				return nil, fmt.Errorf("input %q is missing", in.Name)
			}
			continue
		}
		known++
		if err := s.accept(in.Name, &in.Type, t, sizes); err != nil {
			return nil, err
		}
		sc.vals[in.Name] = s.widen(s.mem.Taken(t))
	}
	if known != len(inputs) {
		for name := range inputs {
			if !slices.ContainsFunc(g.Inputs, func(v onnx.Value) bool { return v.Name == name }) {
				return nil, fmt.Errorf("no input %.100q", name)
			}
		}
	}
	if err := sc.run(); err != nil {
		return nil, err
	}
	out = make(map[string]*tensor.Tensor)
	for _, o := range g.Outputs {
		t := sc.lookup(o.Name)
		if t == nil {
			return nil, fmt.Errorf("%w: no node makes output %q", onnx.ErrFormat, o.Name)
		}
		if t = t.Leave(); !s.wide {
			t = s.narrowed(t, &o.Type)
		}
		out[o.Name] = t
	}
	return out, nil
}
