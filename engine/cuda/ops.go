package cuda

import (
	"errors"
	"fmt"
	"reflect"

	"quern/engine/graph"
	"quern/formats/weights"
	gpu "quern/kernels/cuda"
)

// known refuses activations that kernels have not.
func known(a graph.Act) error {
	if a > graph.Tanh {
		return fmt.Errorf("cuda: no kernel for activation %v", a)
	}
	return nil
}

// ops has a row for each op the GPU has kernels for.
var ops = index(
	embedOp,
	row[graph.Take]{
		lower: func(_ graph.Take, l lowering) {
			l.add(func(rows int) error {
				return l.start("take", gpu.Dims{Rows: rows, Out: l.width()}, l.y(), l.x(0), l.input(l.In[1]), i32(l.width()))
			})
		},
	},
	row[graph.RMSNorm]{
		weights: func(o graph.RMSNorm) []weightKey { return keys(vector(o.Weight)) },
		lower: func(o graph.RMSNorm, l lowering) {
			group, groups := grouped(o.Weight)
			l.add(func(rows int) error {
				return l.start("rmsnorm", gpu.Dims{Rows: rows * (l.width() / group)}, l.y(), l.x(0), l.vector(o.Weight), i32(group), i32(groups), f32(o.Eps))
			})
		},
	},
	row[graph.LayerNorm]{
		weights: func(o graph.LayerNorm) []weightKey { return keys(vector(o.Weight), vector(o.Bias)) },
		lower: func(o graph.LayerNorm, l lowering) {
			group, groups := grouped(o.Weight)
			l.add(func(rows int) error {
				return l.start("layernorm", gpu.Dims{Rows: rows * (l.width() / group)}, l.y(), l.x(0), l.vector(o.Weight), l.vector(o.Bias), i32(group), i32(groups), f32(o.Eps))
			})
		},
	},
	row[graph.Bias]{
		weights: func(o graph.Bias) []weightKey { return keys(vector(o.Vector)) },
		lower:   func(o graph.Bias, l lowering) { l.byRow("bias", []uint64{l.x(0), l.vector(o.Vector)}) },
	},
	row[graph.Weigh]{lower: func(_ graph.Weigh, l lowering) { l.byRow("weigh", []uint64{l.x(0), l.x(1)}) }},
	row[graph.Add]{lower: func(_ graph.Add, l lowering) { l.byNumber("add", []uint64{l.x(0), l.x(1)}) }},
	row[graph.Scale]{lower: func(o graph.Scale, l lowering) { l.byNumber("scale", []uint64{l.x(0)}, f32(o.By)) }},
	row[graph.SoftCap]{lower: func(o graph.SoftCap, l lowering) { l.byNumber("softcap", []uint64{l.x(0)}, f32(o.Limit)) }},
	row[graph.Clamp]{lower: func(o graph.Clamp, l lowering) { l.byNumber("clamp", []uint64{l.x(0)}, f32(o.Limit)) }},
	row[graph.XIELU]{lower: func(o graph.XIELU, l lowering) {
		l.byNumber("xielu", []uint64{l.x(0)}, f32(o.Positive), f32(o.Negative), f32(o.Beta), f32(o.Epsilon))
	}},
	row[graph.Temper]{lower: func(o graph.Temper, l lowering) {
		l.byRow("temper", []uint64{l.x(0), l.input(l.In[1])}, f32(float32(o.Beta)), i32(o.Period), i32(o.Offset))
	}},
	row[graph.HeadCut]{lower: func(o graph.HeadCut, l lowering) {
		l.byRow("head_cut", []uint64{l.x(0)}, i32(l.e.p.Values[l.In[0]].Width()/o.Heads), i32(o.From), i32(o.To-o.From))
	}},
	row[graph.HeadJoin]{lower: func(o graph.HeadJoin, l lowering) {
		l.byRow("head_join", []uint64{l.x(0), l.x(1)}, i32(l.e.p.Values[l.In[0]].Width()/o.Heads), i32(l.e.p.Values[l.In[1]].Width()/o.Heads))
	}},
	row[graph.Activate]{check: func(o graph.Activate) error { return known(o.Act) }, lower: func(o graph.Activate, l lowering) { l.byNumber("gate", []uint64{l.x(0), 0}, i32(int(o.Act))) }},
	row[graph.Gate]{check: func(o graph.Gate) error { return known(o.Act) }, lower: func(o graph.Gate, l lowering) { l.byNumber("gate", []uint64{l.x(0), l.x(1)}, i32(int(o.Act))) }},
	linearOp, headLinearOp, expertsOp, ropeOp, attentionOp, sharedOp, latentOp,
	shortConvOp, mamba2Op, mamba1Op, deltaNetOp, tokenShiftOp, wkv7Op,
	adaptedLinearOp, adaptedEmbedOp, adaptedExpertsOp,
)

// grouped is how wide the groups are that a norm has weights for, and how many it has.
func grouped(w *weights.Tensor) (group, groups int) {
	group = w.Shape[len(w.Shape)-1]
	return group, w.Elems() / group
}

var embedOp = row[graph.Embed]{
	check: func(o graph.Embed) error {
		if o.Short {
			return errors.New("cuda: no kernel for embeddings with fewer rows than there are tokens")
		}
		return nil
	},
	weights: func(o graph.Embed) []weightKey { return keys(matrix(o.Weight)) },
	lower: func(o graph.Embed, l lowering) {
		w, typ := l.matrix(o.Weight)
		l.add(func(rows int) error {
			return l.start(gpu.Name("embed", typ), gpu.Dims{Rows: rows, Out: l.width()}, l.y(), w, l.input(l.In[0]), i32(l.width()))
		})
	},
}

// A row is what a device needs and does for an op O.
type row[O graph.Op] struct {
	check   func(O) error                // whether kernels can do this one; nil: any
	weights func(O) []weightKey          // it reads; nil: none
	scratch func(o O, p *part, rows int) // reserves what its kernels need beside values; nil: nothing
	lower   func(O, lowering)            // adds its launches to the part's work
}

// An anyRow is a row of whatever op.
type anyRow struct {
	check   func(graph.Op) error
	weights func(graph.Op) []weightKey
	scratch func(op graph.Op, p *part, rows int)
	lower   func(graph.Op, lowering)
}

func (r row[O]) entry() (reflect.Type, anyRow) {
	return reflect.TypeFor[O](), anyRow{
		check: func(op graph.Op) error {
			if r.check == nil {
				return nil
			}
			return r.check(op.(O))
		},
		weights: func(op graph.Op) []weightKey {
			if r.weights == nil {
				return nil
			}
			return r.weights(op.(O))
		},
		scratch: func(op graph.Op, p *part, rows int) {
			if r.scratch != nil {
				r.scratch(op.(O), p, rows)
			}
		},
		lower: func(op graph.Op, l lowering) { r.lower(op.(O), l) },
	}
}

func index(rows ...interface{ entry() (reflect.Type, anyRow) }) map[reflect.Type]anyRow {
	m := make(map[reflect.Type]anyRow, len(rows))
	for _, r := range rows {
		op, a := r.entry()
		m[op] = a
	}
	return m
}

func matrix(t *weights.Tensor) weightKey { return weightKey{t: t} }
func vector(t *weights.Tensor) weightKey { return weightKey{t: t, vector: true} }

// keys lists the weights that are there.
func keys(all ...weightKey) []weightKey {
	there := all[:0]
	for _, k := range all {
		if k.t != nil {
			there = append(there, k)
		}
	}
	return there
}

// supported returns an error when a Program has an op without kernels.
func supported(p *graph.Program) error {
	if p.Encodes() || p.Given() {
		return errors.New("cuda: no kernel takes features")
	}
	for _, s := range p.Steps {
		r, ok := ops[reflect.TypeOf(s.Op)]
		if !ok {
			return fmt.Errorf("cuda: no kernel for %T", s.Op)
		}
		if err := r.check(s.Op); err != nil {
			return err
		}
	}
	return nil
}

// A lowering makes a task the part's work.
type lowering struct {
	*part
	task
}

func (l lowering) x(i int) uint64 { return uint64(l.value(l.In[i])) }
func (l lowering) y() uint64      { return uint64(l.value(l.Out)) }

// width is that of the result.
func (l lowering) width() int { return l.e.p.Values[l.Out].Width() }

// add adds launches for the rows of a run. A launch of no rows is none.
func (l lowering) add(f func(rows int) error) {
	l.work = append(l.work, func() error {
		if n := l.rows(l.Out); n > 0 {
			return f(n)
		}
		return nil
	})
}

// byRow adds a kernel with the width of a row as the argument after args.
func (l lowering) byRow(name string, args []uint64, rest ...uint64) {
	l.simple(name, func(int) int { return l.width() }, args, rest)
}

// byNumber adds a kernel without rows, with the count of numbers as its argument.
func (l lowering) byNumber(name string, args []uint64, rest ...uint64) {
	l.simple(name, func(rows int) int { return rows * l.width() }, args, rest)
}

func (l lowering) simple(name string, count func(rows int) int, args, rest []uint64) {
	y := l.y()
	l.add(func(rows int) error {
		list := append(append(append([]uint64{y}, args...), i32(count(rows))), rest...)
		return l.start(name, gpu.Dims{Rows: rows, Out: l.width()}, list...)
	})
}
