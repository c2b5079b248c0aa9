package model

import (
	"fmt"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// A moe is the weights of a layer of experts.
type moe struct {
	router linear
	o      graph.Experts
}

func (m *base) moe(i int, act graph.Act, renormalise bool) moe {
	c := &m.c
	if c.Experts == 0 {
		m.reader.fail("expert_count", "is missing")
	}
	if m.reader.flag("expert_weights_norm", renormalise) != renormalise {
		m.reader.refuse("expert_weights_norm", "is %v", !renormalise)
	}
	// 1 is a softmax over all experts, 3 over the chosen, which is the same
	// after renormalising.
	if g := m.reader.upTo("expert_gating_func", maxExperts); g > 1 && (g != 3 || !renormalise) {
		m.reader.refuse("expert_gating_func", "is %d, want 1 for softmax", g)
	}
	return m.expertsOf(i, act, graph.Routing{Used: c.Used, Renormalise: renormalise})
}

// expertsOf finds the experts of layer i.
func (m *base) expertsOf(i int, act graph.Act, r graph.Routing) moe {
	return m.expertsFor(i, act, r, m.c.Hidden)
}

// expertsFor is expertsOf for experts of rows of another width. Those with the squared ReLU
// have no gates.
func (m *base) expertsFor(i int, act graph.Act, r graph.Routing, width int) moe {
	c, t := &m.c, &m.tensors
	n, ff := c.Experts, c.ExpertFF
	var gate, up *weights.Tensor
	if act == graph.SquaredReLU {
		up = t.need(blk(i, "ffn_up_exps.weight"), n, ff, width)
	} else {
		gate, up = t.gateAndUp(i, n, ff, width)
	}
	return moe{
		router: t.linear(blk(i, "ffn_gate_inp"), n, c.Hidden),
		o: graph.Experts{
			Gate: gate, GateBias: t.maybe(blk(i, "ffn_gate_exps.bias"), n, ff),
			Up: up, UpBias: t.maybe(blk(i, "ffn_up_exps.bias"), n, ff),
			Down: t.need(blk(i, "ffn_down_exps.weight"), n, width, ff), DownBias: t.maybe(blk(i, "ffn_down_exps.bias"), n, width),
			Routing: r, Act: act,
		},
	}
}

func (x *moe) of(b *graph.Builder, h graph.Value) graph.Value {
	return b.Experts(h, x.router.of(b, h), x.o)
}

// gateAndUp finds these experts of layer i. Newer files have them in one tensor, gate first,
// which stays where it is.
func (t *tensors) gateAndUp(i, n, ff, in int) (gate, up *weights.Tensor) {
	w := t.maybe(blk(i, "ffn_gate_up_exps.weight"), n, 2*ff, in)
	if w == nil {
		return t.need(blk(i, "ffn_gate_exps.weight"), n, ff, in), t.need(blk(i, "ffn_up_exps.weight"), n, ff, in)
	}
	half, ok := w.Type.Size(ff * in)
	if _, rows := w.Type.Size(in); !ok || !rows {
		if t.err == nil {
			t.err = fmt.Errorf("%w: rows of %d of %s are no whole blocks of %v", ErrFormat, in, w.Name, w.Type)
		}
		return nil, nil
	}
	view := func(name string, first, last int) *weights.Tensor {
		x := &weights.Tensor{Name: strings.Replace(w.Name, "ffn_gate_up_exps", name, 1), Type: w.Type, Shape: []int{n, ff, in}, Step: 2 * half}
		see := func() error {
			x.Data = w.Data[first*half : len(w.Data)-last*half]
			return nil
		}
		if w.Data == nil {
			t.set.OnFill(see)
		} else {
			see()
		}
		return x
	}
	return view("ffn_gate_exps", 0, 1), view("ffn_up_exps", 1, 0)
}

// splitExperts takes gate and up of all experts apart: (experts, 2·ff, in), gate first.
func splitExperts(w *weights.Tensor) (gate, up *weights.Tensor, err error) {
	if len(w.Shape) != 3 || w.Shape[1]%2 != 0 {
		return nil, nil, fmt.Errorf("%w: tensor %s has shape %v, want (experts, 2·width, in)", ErrFormat, w.Name, w.Shape)
	}
	n, ff, in := w.Shape[0], w.Shape[1]/2, w.Shape[2]
	row, ok := w.Type.Size(in)
	if !ok {
		return nil, nil, fmt.Errorf("%w: rows of %d of %s are no whole blocks of %v", ErrFormat, in, w.Name, w.Type)
	}
	half := func(name string, first int) *weights.Tensor {
		x := &weights.Tensor{Name: strings.Replace(w.Name, "ffn_gate_up_exps", name, 1), Type: w.Type, Shape: []int{n, ff, in}}
		rearrange(x, w, func(dst, data []byte) {
			for e := range n {
				at := (2*e + first) * ff * row
				dst = dst[copy(dst, data[at:at+ff*row]):]
			}
		})
		return x
	}
	return half("ffn_gate_exps", 0), half("ffn_up_exps", 1), nil
}

// routing reads how rows find their experts in the families that followed DeepSeek: by
// softmax or sigmoid, with a bias for the choice, in groups, with a factor.
func (m *base) routing(i int, sigmoid, renormalise bool) graph.Routing {
	c, r := &m.c, &m.reader
	if c.Experts == 0 {
		r.fail("expert_count", "is missing")
	}
	o := graph.Routing{
		Used: c.Used, Sigmoid: sigmoid, Renormalise: r.flag("expert_weights_norm", renormalise),
		Bias:   m.tensors.maybe(blk(i, "exp_probs_b.bias"), c.Experts),
		Groups: r.upTo("expert_group_count", maxExperts), UsedGroups: r.upTo("expert_group_used_count", maxExperts),
	}
	if scale := r.float("expert_weights_scale", 0); scale > 0 {
		o.Scale = float32(scale)
	} else if scale < 0 {
		r.fail("expert_weights_scale", "is %g, want 0 or more", scale)
	}
	switch g := r.upTo("expert_gating_func", maxExperts); g {
	case 0: // as the family does
	case 1:
		o.Sigmoid = false
	case 2:
		o.Sigmoid = true
	case 3: // a softmax over those chosen
		o.Sigmoid, o.Renormalise = false, true
	default:
		r.refuse("expert_gating_func", "is %d, want 1 for softmax or 2 for sigmoid", g)
	}
	return o
}

// sharedExpert finds the block that every row goes through beside its experts; its
// projections are nil where a model has none.
func (m *base) sharedExpert(i int) mlp {
	ff := m.sharedWidth()
	if ff == 0 {
		return mlp{}
	}
	return m.sharedOf(i, ff)
}

// sharedOf finds the shared block of a width.
func (m *base) sharedOf(i, ff int) mlp {
	c, t := &m.c, &m.tensors
	return mlp{
		gate: t.linear(blk(i, "ffn_gate_shexp"), ff, c.Hidden),
		up:   t.linear(blk(i, "ffn_up_shexp"), ff, c.Hidden),
		down: t.linear(blk(i, "ffn_down_shexp"), c.Hidden, ff),
	}
}

// sharedWidth is the width inside the block beside the experts, 0 for none.
func (m *base) sharedWidth() int {
	ff := m.reader.upTo("expert_shared_feed_forward_length", maxWidth)
	if n := m.reader.upTo("expert_shared_count", maxExperts); ff == 0 {
		ff = n * m.c.ExpertFF
	}
	return ff
}

// A feed records what stands between a layer's second norm and its end.
type feed func(b *graph.Builder, h graph.Value) graph.Value

// feeds is a feed-forward block.
func feeds(f mlp, act graph.Act) feed {
	return func(b *graph.Builder, h graph.Value) graph.Value { return f.of(b, h, act) }
}

// mixture is experts beside a shared block, which may be none; gate, which may be nil, weighs
// that by a sigmoid.
func mixture(e moe, shared mlp, gate linear) feed {
	return func(b *graph.Builder, h graph.Value) graph.Value {
		y := e.of(b, h)
		if shared.down.w == nil {
			return y
		}
		s := shared.of(b, h, e.o.Act)
		if gate.w != nil {
			s = b.Weigh(s, gate.of(b, h))
		}
		return b.Add(y, s)
	}
}
