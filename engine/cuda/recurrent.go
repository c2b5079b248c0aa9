package cuda

import (
	"fmt"

	"quern/engine/graph"
	gpu "quern/kernels/cuda"
)

// Ops that carry a state from row to row. Their kernels take the runs of a batch, and find the
// states of its sequences in the cache's memory.

var shortConvOp = row[graph.ShortConv]{
	check: func(o graph.ShortConv) error {
		if taps := o.Weight.Shape[1]; taps > gpu.MaxTaps {
			return fmt.Errorf("cuda: no kernel for convolutions of %d taps", taps)
		}
		return nil
	},
	weights: func(o graph.ShortConv) []weightKey { return keys(vector(o.Weight), vector(o.Bias)) },
	lower: func(o graph.ShortConv, l lowering) {
		channels, taps := o.Weight.Shape[0], o.Weight.Shape[1]
		l.byRun("short_conv", gpu.Dims{Out: channels}, o.At, []uint64{l.vector(o.Weight), l.vector(o.Bias)}, i32(channels), i32(taps), flag(o.Act))
	},
}

var mamba2Op = row[graph.Mamba2]{
	check: func(o graph.Mamba2) error { return sized("Mamba-2 states", o.State, gpu.Mamba2Name) },
	weights: func(o graph.Mamba2) []weightKey {
		return keys(vector(o.A), vector(o.D), vector(o.DtBias))
	},
	lower: func(o graph.Mamba2, l lowering) {
		heads := o.A.Elems()
		l.byRun(gpu.Mamba2Name(o.State), gpu.Dims{Heads: heads, Out: o.Head}, o.At, []uint64{l.vector(o.A), l.vector(o.D), l.vector(o.DtBias)},
			i32(heads), i32(o.Head), i32(o.Groups), i32(o.State))
	},
}

var mamba1Op = row[graph.Mamba1]{
	check:   func(o graph.Mamba1) error { return sized("Mamba states", o.A.Shape[1], gpu.Mamba1Name) },
	weights: func(o graph.Mamba1) []weightKey { return keys(vector(o.A), vector(o.D)) },
	lower: func(o graph.Mamba1, l lowering) {
		width, n := o.A.Shape[0], o.A.Shape[1]
		l.byRun(gpu.Mamba1Name(n), gpu.Dims{Heads: 1, Out: width}, o.At, []uint64{l.vector(o.A), l.vector(o.D)}, i32(width), i32(n))
	},
}

var deltaNetOp = row[graph.DeltaNet]{
	check:   func(o graph.DeltaNet) error { return sized("delta nets with keys", o.Key, gpu.DeltaName) },
	weights: func(o graph.DeltaNet) []weightKey { return keys(vector(o.A), vector(o.DtBias)) },
	lower: func(o graph.DeltaNet, l lowering) {
		l.byRun(gpu.DeltaName(o.Key), gpu.Dims{Heads: o.Heads, Out: o.Value}, o.At, []uint64{l.vector(o.A), l.vector(o.DtBias)},
			i32(o.Heads), i32(o.KeyHeads), i32(o.Key), i32(o.Value), flag(o.Tiled))
	},
}

var tokenShiftOp = row[graph.TokenShift]{
	weights: func(o graph.TokenShift) []weightKey { return keys(vector(o.Mix)) },
	lower: func(o graph.TokenShift, l lowering) {
		n, width := o.Mix.Shape[0], o.Mix.Shape[1]
		l.byRun("token_shift", gpu.Dims{Out: width}, o.At, []uint64{l.vector(o.Mix)}, i32(width), i32(n))
	},
}

var wkv7Op = row[graph.WKV7]{
	check: func(o graph.WKV7) error {
		if o.Head > gpu.MaxWKVHead {
			return fmt.Errorf("cuda: no kernel for RWKV-7 heads of %d", o.Head)
		}
		return nil
	},
	weights: func(o graph.WKV7) []weightKey {
		return keys(vector(o.Key), vector(o.Rate), vector(o.Bonus), vector(o.Norm), vector(o.Shift))
	},
	lower: func(o graph.WKV7, l lowering) {
		l.byRun("wkv7", gpu.Dims{Heads: l.width() / o.Head, Out: 1}, o.At,
			[]uint64{l.vector(o.Key), l.vector(o.Rate), l.vector(o.Bonus), l.vector(o.Norm), l.vector(o.Shift)}, i32(l.width()), i32(o.Head), f32(o.Eps))
	},
}

// sized refuses sizes that no kernel has registers for.
func sized(of string, n int, name func(int) string) error {
	if name(n) == "" {
		return fmt.Errorf("cuda: no kernel for %s of %d", of, n)
	}
	return nil
}

// byRun adds a kernel with arguments, after the result, the inputs and its weights, of where the
// states of an op at at are and which runs there are, and last how long a slot is.
func (l lowering) byRun(name string, d gpu.Dims, at int, weights []uint64, rest ...uint64) {
	l.add(func(int) error {
		args := []uint64{l.y()}
		for i := range l.In {
			args = append(args, l.x(i))
		}
		d := d
		d.Rows, d.Splits = l.run.runs, l.run.longest
		args = append(append(args, weights...), uint64(l.statesAt())+4*uint64(at), l.word(runs))
		return l.start(name, d, append(append(args, rest...), i32(l.kv.spec.State))...)
	})
}

// A run is rows of one sequence in a batch, for the kernels of recurrent layers.
type run struct{ from, to, slot, fresh int32 }

// runsOf fills to with the runs of a batch and of the rows that fill it up, one each, which
// have no slot. What is left over has no rows.
func runsOf(to []run, in *graph.Batch, rows int) {
	n := 0
	for i, seq := range in.Seq {
		if i == 0 || in.Seq[i-1] != seq {
			to[n] = run{from: int32(i), slot: in.States[seq]}
			if in.Positions[i] == 0 {
				to[n].fresh = 1
			}
			n++
		}
		to[n-1].to = int32(i + 1)
	}
	for i := len(in.Seq); i < rows; i++ {
		to[n] = run{int32(i), int32(i + 1), -1, 1}
		n++
	}
	for ; n < len(to); n++ {
		to[n] = run{slot: -1, fresh: 1}
	}
}

// countRuns is how many runs a batch has, and how many rows the longest.
func countRuns(seq []int32) (n, longest int) {
	from := 0
	for i := range seq {
		if i == 0 || seq[i-1] != seq[i] {
			n, from = n+1, i
		}
		longest = max(longest, i+1-from)
	}
	return n, longest
}
