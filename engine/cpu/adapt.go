package cpu

import (
	"quern/engine/graph"
	"quern/kernels/dot"
	"quern/kernels/matmul"
)

// findAdapters finds the runs of rows that have one adapter, of the rows of the batch and of
// those wanted.
func (e *exec) findAdapters() {
	for i := range e.adapted {
		e.adapted[i] = e.adapted[i][:0]
	}
	if len(e.in.Adapters) == 0 {
		return
	}
	for i, s := range e.in.Seq {
		e.adapted[graph.PerRow] = longer(e.adapted[graph.PerRow], i, int(e.in.Adapters[s])-1)
	}
	for i, r := range e.in.Want {
		e.adapted[graph.PerWant] = longer(e.adapted[graph.PerWant], i, int(e.in.Adapters[e.in.Seq[r]])-1)
	}
}

// longer adds row i, which follows the last one of runs.
func longer(runs []matmul.Run, i, change int) []matmul.Run {
	if n := len(runs); n > 0 && runs[n-1].Change == change {
		runs[n-1].To = i + 1
		return runs
	}
	return append(runs, matmul.Run{From: i, To: i + 1, Change: change})
}

// room is scratch for the numbers between A and B, of rows rows.
func (e *exec) room(rows, rank int) {
	if n := rows * rank; len(e.low) < n {
		e.low = make([]float32, n)
	}
}

func (e *exec) adaptedLinear(op graph.AdaptedLinear, s graph.Step) error {
	if err := e.linear(op.Linear, s); err != nil {
		return err
	}
	changes := make([]matmul.Change, len(op.Changes))
	for i, c := range op.Changes {
		if c.A != nil {
			changes[i] = matmul.Change{Rank: c.A.Shape[0], A: c.A.Data, B: c.B.Data, TypeA: c.A.Type, TypeB: c.B.Type, Scale: c.Scale}
		}
	}
	x := s.In[0]
	info := &e.p.Values[x]
	l := matmul.NewLowRank(op.Weight.Shape[0], op.Weight.Shape[1], info.Shape[0], changes)
	e.room(info.Shape[0], l.Rank())
	e.steps = append(e.steps, func() {
		l.Run(e.b.pool, e.floats(s.Out), e.floats(x), e.low, e.adapted[info.Lead])
	})
	return nil
}

func (e *exec) adaptedExperts(op graph.AdaptedExperts, s graph.Step) error {
	o, err := e.expertsOptions(op.Experts)
	if err != nil {
		return err
	}
	n := op.Up.Shape[0]
	o.GateChanges, o.UpChanges, o.DownChanges = byExpert(op.GateChanges, n), byExpert(op.UpChanges, n), byExpert(op.DownChanges, n)
	e.mix(o, n, s)
	return nil
}

// byExpert takes changes of stacks of n matrices apart: those of adapter a and expert x are at
// a·n + x.
func byExpert(list []graph.Change, n int) []matmul.Change {
	out := make([]matmul.Change, len(list)*n)
	for i, c := range list {
		if c.A == nil {
			continue
		}
		a, b := len(c.A.Data)/n, len(c.B.Data)/n
		for x := range n {
			out[i*n+x] = matmul.Change{
				Rank: c.A.Shape[1], A: c.A.Data[x*a : (x+1)*a], B: c.B.Data[x*b : (x+1)*b],
				TypeA: c.A.Type, TypeB: c.B.Type, Scale: c.Scale,
			}
		}
	}
	return out
}

func (e *exec) adaptedEmbed(op graph.AdaptedEmbed, s graph.Step) error {
	if err := e.embed(op.Embed, s); err != nil {
		return err
	}
	positions, rows := e.p.Values[s.In[0]].Input == "positions", e.p.Rows
	rank := 0
	for _, c := range op.Changes {
		if c.A != nil {
			rank = max(rank, c.A.Shape[1])
		}
	}
	e.room(rows, rank)
	e.byRow(s.Out, func(r0, r1 int) {
		if len(e.in.Adapters) == 0 {
			return
		}
		dst, ids, width := e.floats(s.Out), e.in.Tokens, e.width(s.Out)
		if positions {
			ids = e.in.Positions
		}
		for r := r0; r < r1; r++ {
			n := int(e.in.Adapters[e.in.Seq[r]])
			if n == 0 || op.Changes[n-1].A == nil {
				continue
			}
			c := &op.Changes[n-1]
			low := e.low[r*rank : r*rank+c.A.Shape[1]]
			size, _ := c.A.Type.Size(len(low))
			at := int(ids[r]) * size
			c.A.Type.Layout().Decode(low, c.A.Data[at:at+size])
			for i := range low {
				low[i] *= c.Scale
			}
			row, _ := c.B.Type.Size(width)
			dot.AddRows(c.B.Type, dst[r*width:(r+1)*width], c.B.Data, row, low)
		}
	})
	return nil
}
