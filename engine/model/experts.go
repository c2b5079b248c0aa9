package model

import (
	"quern/engine/graph"
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
	c, t := &m.c, &m.tensors
	n, ff := c.Experts, c.ExpertFF
	return moe{
		router: t.linear(blk(i, "ffn_gate_inp"), n, c.Hidden),
		o: graph.Experts{
			Gate: t.need(blk(i, "ffn_gate_exps.weight"), n, ff, c.Hidden), GateBias: t.maybe(blk(i, "ffn_gate_exps.bias"), n, ff),
			Up: t.need(blk(i, "ffn_up_exps.weight"), n, ff, c.Hidden), UpBias: t.maybe(blk(i, "ffn_up_exps.bias"), n, ff),
			Down: t.need(blk(i, "ffn_down_exps.weight"), n, c.Hidden, ff), DownBias: t.maybe(blk(i, "ffn_down_exps.bias"), n, c.Hidden),
			Routing: r, Act: act,
		},
	}
}

func (x *moe) of(b *graph.Builder, h graph.Value) graph.Value {
	return b.Experts(h, x.router.of(b, h), x.o)
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
	c, t, r := &m.c, &m.tensors, &m.reader
	ff := r.upTo("expert_shared_feed_forward_length", maxWidth)
	if n := r.upTo("expert_shared_count", maxExperts); ff == 0 {
		ff = n * c.ExpertFF
	}
	if ff == 0 {
		return mlp{}
	}
	return mlp{
		gate: t.linear(blk(i, "ffn_gate_shexp"), ff, c.Hidden),
		up:   t.linear(blk(i, "ffn_up_shexp"), ff, c.Hidden),
		down: t.linear(blk(i, "ffn_down_shexp"), c.Hidden, ff),
	}
}
