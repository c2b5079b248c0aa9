package cuda

import (
	"errors"
	"fmt"
	"math"

	"quern/engine/graph"
	gpu "quern/kernels/cuda"
)

var attentionOp = row[graph.Attention]{
	check: func(o graph.Attention) error {
		if o.HeadDim > gpu.MaxHead {
			return fmt.Errorf("cuda: no kernel for attention heads of %d", o.HeadDim)
		}
		if sided(o) && o.HeadDim > gpu.MaxSidedHead {
			return fmt.Errorf("cuda: no kernel for attention heads of %d with slopes or with a window to both sides", o.HeadDim)
		}
		if o.Slopes != nil && !o.Bidirectional && (o.Window > 0 || o.Chunk > 0) {
			return errors.New("cuda: no kernel for attention with slopes and a window")
		}
		return nil
	},
	weights: func(o graph.Attention) []weightKey { return keys(vector(o.Sinks)) },
	scratch: func(o graph.Attention, p *part, rows int) {
		p.reserveScratch(spans, p.spanWords(o, rows))
		p.reserveScratch(arrivals, rows*o.KVHeads)
	},
	lower: func(o graph.Attention, l lowering) {
		slopes := l.constant(o.Slopes)
		l.add(func(rows int) error {
			if sided(o) {
				return l.attendSides(o, l.x(0), l.x(1), l.x(2), l.y(), uint64(slopes.at), rows)
			}
			return l.attend(o, l.x(0), l.x(1), l.x(2), l.y(), rows, graph.PerRow)
		})
	},
}

// sharedOp is attention to what an earlier one has stored, of all rows or of those wanted.
var sharedOp = row[graph.SharedAttention]{
	check:   func(o graph.SharedAttention) error { return attentionOp.check(o.Attention) },
	weights: func(o graph.SharedAttention) []weightKey { return attentionOp.weights(o.Attention) },
	scratch: func(o graph.SharedAttention, p *part, rows int) { attentionOp.scratch(o.Attention, p, rows) },
	lower: func(o graph.SharedAttention, l lowering) {
		l.add(func(rows int) error {
			return l.attend(o.Attention, l.x(0), 0, 0, l.y(), rows, l.e.p.Values[l.Out].Lead)
		})
	},
}

// splitHeads is how many blocks of attention fill a device: sequences are cut
// until there are about as many.
func (d *device) splitHeads() int { return 4 * d.info.Processors }

// groupBlocks is how many blocks of attend_group_T_D a processor holds at once, by
// the registers they take of its 65536.
func groupBlocks(headDim int) int {
	switch {
	case headDim > 128:
		return 1
	case headDim > 96:
		return 3
	}
	return 4
}

// splits is into how many pieces attention cuts sequences of at most so many tokens,
// where blocks work on each piece and fill of them at once: the fewest with which
// hardly any place stays empty while the last blocks run. There are most blocks
// of pieces beside the first.
func splits(blocks, fill, most, tokens int) int {
	used := func(s int) float64 {
		n := blocks * s
		return float64(n) / float64((n+fill-1)/fill*fill)
	}
	best := 1
	for s := 2; s <= min(1+most/blocks, tokens/minSplit); s++ {
		if used(s) > 1.05*used(best) {
			best = s
		}
	}
	return best
}

// spanWords is the scratch of attention whose heads are split: rows · heads ·
// splits of them, whichever kernel runs.
func (p *part) spanWords(o graph.Attention, rows int) int {
	return (rows*o.Heads + p.d.splitHeads()*(o.Heads/o.KVHeads)) * (o.HeadDim + 2)
}

// minSplit is the least tokens worth a piece of their own.
const minSplit = 64

// A stretch is rows [from, to) of a step that attend in one launch: those of
// prompts, which are many of a sequence, on tensor cores where there are some.
type stretch struct {
	from, to int
	prompt   bool
}

// minPrompt is the least rows of a sequence that are taken for a prompt.
const minPrompt = 16

// stretches divides rows of these sequences.
func stretches(seq []int32) []stretch {
	var all []stretch
	for from := 0; from < len(seq); {
		to := from + 1
		for to < len(seq) && seq[to] == seq[from] {
			to++
		}
		prompt := to-from >= minPrompt
		if last := len(all) - 1; last >= 0 && all[last].prompt == prompt {
			all[last].to = to
		} else {
			all = append(all, stretch{from, to, prompt})
		}
		from = to
	}
	return all
}

// prefill returns the kernel for prompts, "" where there is none.
func (p *part) prefill(o graph.Attention) string {
	// It counts the tokens of a layer, keys and values of every head, in an int32.
	s := p.kv.spec
	if p.d.info.Capability < tensorCores || int64(s.In(o.Layer))*int64(s.BlockSize)*int64(2*o.KVHeads) > math.MaxInt32 {
		return ""
	}
	return gpu.PrefillName(s.Type, o.HeadDim)
}

// sided reports whether attention goes by the place of a row in its sequence.
func sided(o graph.Attention) bool { return o.Slopes != nil || o.Bidirectional && o.Window > 0 }

// attendSides is attend for those. A causal row's end is behind itself, so that a window to
// both sides is only of those that look ahead.
func (p *part) attendSides(o graph.Attention, q, k, v, y, slopes uint64, rows int) error {
	kv, size, typ := p.layerAt(o.Layer), i32(p.kv.spec.BlockSize), p.kv.spec.Type
	heads, kvHeads, dim := i32(o.Heads), i32(o.KVHeads), i32(o.HeadDim)
	if err := p.start(gpu.Name("kv_put", typ), gpu.Dims{Rows: rows, Out: o.KVHeads * o.HeadDim}, kv, k, v, p.slots(o.Layer), kvHeads, dim, size); err != nil {
		return err
	}
	tables, stride := p.tables(o.Layer)
	splits := splits(rows*o.Heads, p.d.splitHeads(), p.d.splitHeads(), p.run.stride*p.kv.spec.BlockSize)
	if err := p.start(gpu.Name("attend_sides", typ), gpu.Dims{Rows: rows, Heads: o.Heads, Splits: splits}, p.scratchAt(spans), q, kv,
		tables, p.word(sequences), p.word(ends), p.word(positions), slopes, i32(stride), heads, kvHeads, dim, size, i32(o.Window), f32(o.Scale), f32(o.SoftCap)); err != nil {
		return err
	}
	return p.start("attend_combine", gpu.Dims{Rows: rows, Heads: o.Heads, Out: o.HeadDim}, y, p.scratchAt(spans), p.vector(o.Sinks), heads, dim, i32(splits))
}

// seen is the kernels' argument of how far back rows see: a window, or below 0 a run of chunks.
func seen(o graph.Attention) uint64 {
	if o.Chunk > 0 {
		return i32(-o.Chunk)
	}
	return i32(o.Window)
}

// attend stores the rows' keys and values, unless k is 0 because they are stored
// already, and attends. Rows are those of the batch, or those wanted.
func (p *part) attend(o graph.Attention, q, k, v, y uint64, rows int, lead graph.Lead) error {
	kv, size, typ := p.layerAt(o.Layer), i32(p.kv.spec.BlockSize), p.kv.spec.Type
	heads, kvHeads, dim := i32(o.Heads), i32(o.KVHeads), i32(o.HeadDim)
	tables, stride := p.tables(o.Layer)
	if k != 0 {
		if err := p.start(gpu.Name("kv_put", typ), gpu.Dims{Rows: rows, Out: o.KVHeads * o.HeadDim}, kv, k, v, p.slots(o.Layer), kvHeads, dim, size); err != nil {
			return err
		}
	}
	prefill, all := p.prefill(o), p.run.stretches
	if prefill == "" || all == nil || lead == graph.PerWant {
		all = []stretch{{to: rows}}
	}
	for _, s := range all {
		n := s.to - s.from
		values, words := uint64(4*s.from*o.Heads*o.HeadDim), uint64(4*s.from)
		q, y, seq, end := q+values, y+values, p.ofRows(sequences, lead)+words, p.ofRows(ends, lead)+words
		if s.prompt {
			if err := p.start(prefill, gpu.Dims{Rows: n, Heads: o.Heads}, y, q, kv, tables, seq, end, p.vector(o.Sinks),
				i32(stride), i32(n), heads, kvHeads, size, seen(o), f32(o.Scale), f32(o.SoftCap)); err != nil {
				return err
			}
			continue
		}
		splitBy := func(heads, fill int) int {
			return splits(n*heads, fill, p.d.splitHeads(), p.run.stride*p.kv.spec.BlockSize)
		}
		if group := gpu.GroupName(typ, o.HeadDim, o.Heads/o.KVHeads); group != "" && p.d.info.Capability >= tensorCores {
			splits := splitBy(o.KVHeads, groupBlocks(o.HeadDim)*p.d.info.Processors)
			if err := p.start(group, gpu.Dims{Rows: n, Heads: o.KVHeads, Splits: splits}, y, p.scratchAt(spans), p.scratchAt(arrivals), q, kv,
				tables, seq, end, p.vector(o.Sinks), i32(stride), heads, kvHeads, size, seen(o), f32(o.Scale), f32(o.SoftCap)); err != nil {
				return err
			}
			continue
		}
		splits := splitBy(o.Heads, p.d.splitHeads())
		if err := p.start(gpu.AttendName(typ, o.HeadDim), gpu.Dims{Rows: n, Heads: o.Heads, Splits: splits}, p.scratchAt(spans), q, kv,
			tables, seq, end, i32(stride), heads, kvHeads, dim, size, seen(o), f32(o.Scale), f32(o.SoftCap)); err != nil {
			return err
		}
		if err := p.start("attend_combine", gpu.Dims{Rows: n, Heads: o.Heads, Out: o.HeadDim}, y, p.scratchAt(spans), p.vector(o.Sinks), heads, dim, i32(splits)); err != nil {
			return err
		}
	}
	return nil
}
