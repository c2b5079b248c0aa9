package conformer

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// A path is a hypothesis of a beam search.
type path struct {
	stream
	score  float64
	tokens *trail
	here   int // tokens at this frame
}

// A trail is the tokens of a hypothesis, the last first. Hypotheses share what they have in
// common.
type trail struct {
	spoken
	before *trail
	n      int
	hash   uint64
}

// and returns the trail with one more token.
func (t *trail) and(s spoken) *trail {
	next := &trail{spoken: s, before: t, n: 1, hash: 14695981039346656037}
	if t != nil {
		next.n, next.hash = t.n+1, t.hash
	}
	next.hash = (next.hash ^ uint64(s.id+1)) * 1099511628211
	return next
}

func (t *trail) len() int {
	if t == nil {
		return 0
	}
	return t.n
}

// same reports whether two trails are one text.
func (t *trail) same(o *trail) bool {
	return t == o || t != nil && o != nil && t.n == o.n && t.id == o.id && t.hash == o.hash
}

// list returns the tokens in order.
func (t *trail) list() []spoken {
	list := make([]spoken, t.len())
	for ; t != nil; t = t.before {
		list[t.n-1] = t.spoken
	}
	return list
}

// beam searches for the likeliest text of a window. Hypotheses are compared with those at
// the same frame only, for a transducer of durations has them at different ones; equal texts
// at the same frame become one.
//
// Kim et al., "Accelerating RNN Transducer Inference via Adaptive Expansion Search", 2020,
// whose bound on expansions is that of tokens at a frame here; NVIDIA, NeMo,
// rnnt_beam_decoding.py and tdt_beam_decoding.py.
func (t *transducer) beam(ctx context.Context, w *window) error {
	if w.states.frames == 0 {
		return nil
	}
	s, err := t.start(ctx, w)
	if err != nil {
		return err
	}
	at := map[int][]*path{0: {{stream: *s}}}
	var done []*path
	var logits []float32
	for now := 0; now < s.frames.n; now++ {
		live := at[now]
		delete(at, now)
		for len(live) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			list := make([]*stream, len(live))
			for i, p := range live {
				list[i] = &p.stream
			}
			if logits, err = t.logits(ctx, list, logits[:0]); err != nil {
				return err
			}
			var wrote []*path
			width := len(logits) / len(live)
			for i, p := range live {
				for _, next := range t.follow(p, logits[i*width:][:width], w.beams) {
					switch {
					case next.tokens != p.tokens:
						wrote = append(wrote, next)
					case next.t >= s.frames.n:
						done = join(done, next, w.beams)
					default:
						at[next.t] = join(at[next.t], next, w.beams)
					}
				}
			}
			// Only those that stay in some list need the predictor.
			var kept []*path
			live = nil
			for _, p := range wrote {
				switch {
				case p.t == now:
					live = join(live, p, w.beams)
				case p.t >= s.frames.n || p.tokens.len() >= w.limit:
					done = join(done, p, w.beams)
				default:
					at[p.t] = join(at[p.t], p, w.beams)
				}
			}
			for _, p := range wrote {
				if slices.Contains(live, p) || slices.Contains(at[p.t], p) {
					kept = append(kept, p)
				}
			}
			if len(kept) == 0 {
				continue
			}
			streams := make([]*stream, len(kept))
			for i, p := range kept {
				streams[i] = &p.stream
			}
			if err := t.advance(ctx, streams); err != nil {
				return err
			}
		}
	}
	if len(done) > 0 {
		w.tokens = done[0].tokens.list()
	}
	return nil
}

// follow returns the likeliest continuations of a path by one step, blank among them.
func (t *transducer) follow(p *path, x []float32, beams int) (list []*path) {
	blank := t.tokens - 1
	all := logSum(x[:t.tokens])
	ids := largest(x[:blank], beams)
	type move struct {
		frames int
		score  float64
	}
	moves := []move{{}}
	if t.durations > 0 {
		moves = nil
		sum := logSum(x[t.tokens:])
		for d, v := range x[t.tokens:] {
			moves = append(moves, move{d, float64(v) - sum})
		}
	}
	for _, id := range append(ids, blank) {
		logprob := float64(x[id]) - all
		for _, m := range moves {
			n := &path{stream: p.stream, score: p.score + logprob + m.score, tokens: p.tokens, here: p.here}
			step := m.frames
			if id != blank {
				lasts := step
				if t.durations == 0 {
					lasts = -1
				}
				n.tokens = p.tokens.and(spoken{id: id, at: p.t, frames: lasts, logprob: logprob})
				n.last = int32(id)
				n.here++
			}
			if step == 0 && (id == blank || n.here >= t.perFrame) {
				step = 1
			}
			if step > 0 {
				n.t += step
				n.here = 0
			}
			list = append(list, n)
		}
	}
	return list
}

// largest returns the places of the n largest numbers, the largest first.
func largest(x []float32, n int) (at []int) {
	for i, v := range x {
		if len(at) == n && v <= x[at[n-1]] {
			continue
		}
		k, _ := slices.BinarySearchFunc(at, v, func(a int, v float32) int { return cmp.Compare(v, x[a]) })
		for k < len(at) && x[at[k]] == v {
			k++ // the first of equals stays first
		}
		at = slices.Insert(at, k, i)
		at = at[:min(n, len(at))]
	}
	return at
}

// join adds a path to those of a frame, the best first and at most n. One of the same text
// takes what both are worth.
func join(list []*path, p *path, n int) []*path {
	for i, q := range list {
		if q.tokens.same(p.tokens) {
			if p.score > q.score {
				p, list[i] = q, p // the likelier path to the text has its times
			}
			better := list[i]
			better.score += math.Log1p(math.Exp(p.score - better.score))
			slices.SortStableFunc(list, func(a, b *path) int { return cmp.Compare(b.score, a.score) })
			return list
		}
	}
	list = append(list, p)
	slices.SortStableFunc(list, func(a, b *path) int { return cmp.Compare(b.score, a.score) })
	return list[:min(n, len(list))]
}
