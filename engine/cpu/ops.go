package cpu

import (
	"fmt"
	"math"
	"reflect"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/attention"
	"quern/kernels/dot"
	"quern/kernels/matmul"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// ops has a row for each op: the function that binds a step of it to its kernel. It allocates
// the step's buffers; running a step allocates nothing.
var ops = index(
	on((*exec).embed),
	on((*exec).take),
	over((*exec).rmsNorm),
	over((*exec).layerNorm),
	on((*exec).linear),
	on((*exec).adaptedEmbed),
	on((*exec).adaptedLinear),
	over((*exec).bias),
	over((*exec).add),
	over((*exec).scale),
	over((*exec).softCap),
	over((*exec).clamp),
	over((*exec).xielu),
	on((*exec).blend),
	on((*exec).matchRMS),
	on((*exec).sparsify),
	on((*exec).times),
	over((*exec).activate),
	over((*exec).gate),
	over((*exec).weigh),
	over((*exec).rope),
	on((*exec).temper),
	on((*exec).shortConv),
	on((*exec).mamba2),
	on((*exec).mamba1),
	on((*exec).deltaNet),
	on((*exec).tokenShift),
	on((*exec).wkv7),
	on((*exec).headLinear),
	on((*exec).headCut),
	on((*exec).headJoin),
	on((*exec).attention),
	on((*exec).latentAttention),
	on((*exec).sharedAttention),
	on((*exec).experts),
	on((*exec).adaptedExperts),
	on((*exec).conv),
	on((*exec).denseAttention),
	on((*exec).store),
	on((*exec).crossAttention),
	on((*exec).crossScores),
)

// A row binds steps of one op.
type row struct {
	op   reflect.Type
	over bool // the result may be written over an input of its shape
	bind func(*exec, graph.Op, graph.Step) error
}

func on[O graph.Op](bind func(*exec, O, graph.Step) error) row {
	return row{reflect.TypeFor[O](), false, func(e *exec, op graph.Op, s graph.Step) error { return bind(e, op.(O), s) }}
}

// over is on of an op whose kernel reads no more of its inputs than the rows that it writes.
func over[O graph.Op](bind func(*exec, O, graph.Step) error) row {
	r := on(bind)
	r.over = true
	return r
}

func inPlace(op graph.Op) bool { return ops[reflect.TypeOf(op)].over }

func index(rows ...row) map[reflect.Type]row {
	m := make(map[reflect.Type]row, len(rows))
	for _, r := range rows {
		m[r.op] = r
	}
	return m
}

// bind adds one step of the Program.
func (e *exec) bind(s graph.Step) error {
	r, ok := ops[reflect.TypeOf(s.Op)]
	if !ok {
		return fmt.Errorf("cpu: no kernel for %T", s.Op)
	}
	if !graph.Projects(s.Op) {
		e.products = nil
	}
	return r.bind(e, s.Op, s)
}

func (e *exec) rmsNorm(op graph.RMSNorm, s graph.Step) error {
	w, x := e.vector(op.Weight), s.In[0]
	if len(op.Weight.Shape) == 2 {
		e.byGroup(s, op.Weight.Shape[1], func(dst, x []float32, at int) { vec.RMSNorm(dst, x, w[at:at+len(x)], op.Eps) })
		return nil
	}
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(x)
		vec.RMSNorm(e.floats(s.Out)[r0*n:r1*n], e.floats(x)[r0*n:r1*n], w, op.Eps)
	})
	return nil
}

func (e *exec) layerNorm(op graph.LayerNorm, s graph.Step) error {
	w, bias, x := e.vector(op.Weight), e.vector(op.Bias), s.In[0]
	if len(op.Weight.Shape) == 2 {
		e.byGroup(s, op.Weight.Shape[1], func(dst, x []float32, at int) { vec.LayerNorm(dst, x, w[at:at+len(x)], nil, op.Eps) })
		return nil
	}
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(x)
		vec.LayerNorm(e.floats(s.Out)[r0*n:r1*n], e.floats(x)[r0*n:r1*n], w, bias, op.Eps)
	})
	return nil
}

func (e *exec) bias(op graph.Bias, s graph.Step) error {
	v := e.vector(op.Vector)
	e.pointwise(s, func(dst, x []float32) { vec.Bias(dst, x, v) })
	return nil
}

func (e *exec) add(_ graph.Add, s graph.Step) error {
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(s.Out)
		vec.Add(e.floats(s.Out)[r0*n:r1*n], e.floats(s.In[0])[r0*n:r1*n], e.floats(s.In[1])[r0*n:r1*n])
	})
	return nil
}

// byGroup adds a step that does f for every group of so many values, which begins at
// column at.
func (e *exec) byGroup(s graph.Step, group int, f func(dst, x []float32, at int)) {
	n := e.width(s.Out)
	e.byRow(s.Out, func(r0, r1 int) {
		for at := r0 * n; at < r1*n; at += group {
			f(e.floats(s.Out)[at:at+group], e.floats(s.In[0])[at:at+group], at%n)
		}
	})
}

// grain is the number of floats a chunk of row-wise work should have to be
// worth another worker.
const grain = 8 << 10

// byRow adds a step that does f for row ranges of value v, in parallel when
// there is enough to do.
func (e *exec) byRow(v int, f func(r0, r1 int)) {
	per := max(1, grain/e.width(v))
	region := &threads.Region{F: func(_, c int) { f(c*per, min((c+1)*per, e.rows(v))) }}
	e.steps = append(e.steps, func() { e.b.pool.Run((e.rows(v)+per-1)/per, region) })
}

func (e *exec) embed(op graph.Embed, s graph.Step) error {
	w := op.Weight
	width := w.Shape[1]
	row, ok := w.Type.Size(width)
	if !ok {
		return fmt.Errorf("cpu: rows of %d of %s are no whole blocks of %v", width, w.Name, w.Type)
	}
	positions := e.p.Values[s.In[0]].Input == "positions"
	decode := w.Type.Layout().Decode
	// Rows of a copy are read there, so that the file's are not in memory, too.
	var rows []byte
	copied, interleaved := e.copied[matrixOf(w)], 0
	if copied != nil {
		interleaved = matmul.Interleaves(w.Type, w.Shape[0], width)
		rows = make([]byte, e.p.Rows*row)
	}
	e.byRow(s.Out, func(r0, r1 int) {
		dst, ids := e.floats(s.Out), e.in.Tokens
		if positions {
			ids = e.in.Positions
		}
		for r := r0; r < r1; r++ {
			id := int(ids[r])
			if op.Short && id >= w.Shape[0] {
				clear(dst[r*width : (r+1)*width])
				continue
			}
			if id >= interleaved {
				decode(dst[r*width:(r+1)*width], w.Data[id*row:(id+1)*row])
				continue
			}
			one := rows[r*row : (r+1)*row]
			dot.InterleavedRow(w.Type, one, copied.data, id, width)
			decode(dst[r*width:(r+1)*width], one)
		}
	})
	return nil
}

func (e *exec) take(_ graph.Take, s graph.Step) error {
	n := e.width(s.Out)
	e.steps = append(e.steps, func() {
		dst, src := e.floats(s.Out), e.floats(s.In[0])
		for i, r := range e.in.Want {
			copy(dst[i*n:(i+1)*n], src[int(r)*n:])
		}
	})
	return nil
}

// acts is the scratch that activations are quantised to, one per type. held is
// the value in it, so that projections of one value by matrices of
// several types, or with other steps between them, quantise it once.
type acts struct {
	x32, x256 act
}

type act struct {
	bytes []byte
	held  int // value quantised here while lowering, plus one
}

func (a *acts) of(t quant.Type) *act {
	if t == quant.ActQ8_32 {
		return &a.x32
	}
	return &a.x256
}

func (e *exec) linear(op graph.Linear, s graph.Step) error {
	if e.encodes {
		return e.encodeLinear(op, s)
	}
	w := op.Weight
	out, in := w.Shape[0], w.Shape[1]
	if _, ok := w.Type.Size(in); !ok {
		return fmt.Errorf("cpu: rows of %d of %s are no whole blocks of %v", in, w.Name, w.Type)
	}
	m := matmul.NewMatMul(w.Type, w.Data, out, in, e.vector(op.Bias))
	if k := e.copied[matrixOf(w)]; k != nil {
		m.UseInterleaved(k.data)
	}
	x, with := s.In[0], m.With()
	if g := e.products; g != nil && g.x == x && g.group.Takes(m) {
		g.add(m, s.Out)
		return nil
	}
	g := &products{x: x}
	g.add(m, s.Out)
	e.products = g
	if with == quant.F32 {
		e.steps = append(e.steps, func() { g.run(e, quant.Floats(e.floats(x)), 4*in) })
		return nil
	}
	a := e.acts.of(with)
	stride := quant.ActBytes(with, in)
	if need := e.p.Values[x].Shape[0] * stride; len(a.bytes) < need {
		a.bytes = make([]byte, need)
	}
	if a.held != x+1 {
		a.held = x + 1
		e.byRow(x, func(r0, r1 int) {
			quant.Quantize(a.bytes[r0*stride:r1*stride], with, e.floats(x)[r0*in:r1*in], in)
		})
	}
	e.steps = append(e.steps, func() { g.run(e, a.bytes, stride) })
	return nil
}

// products are those of one value whose steps follow each other (query, key and value; gate
// and up): one step here, at that of the first.
type products struct {
	group matmul.Group
	x     int   // value
	out   []int // values
	dst   [][]float32
}

func (g *products) add(m *matmul.MatMul, out int) {
	g.group.Add(m)
	g.out, g.dst = append(g.out, out), append(g.dst, nil)
}

func (g *products) run(e *exec, x []byte, stride int) {
	for i, v := range g.out {
		g.dst[i] = e.floats(v)
	}
	g.group.Run(e.b.pool, g.dst, x, stride, e.rows(g.x))
}

// A ropeTable holds the rotations of the positions of a batch's rows, or of its wanted
// rows, for one set of frequencies. Every layer of a model uses the same one.
type ropeTable struct {
	freqs     []float64
	magnitude float32
	lead      graph.Lead
	cos, sin  []float32 // (rows, pairs)
}

func (t *ropeTable) fill(in *graph.Batch) {
	n := len(t.freqs)
	one := func(i int, position int32) {
		vec.RopeTable(t.cos[i*n:(i+1)*n], t.sin[i*n:(i+1)*n], position, t.freqs, t.magnitude)
	}
	if t.lead == graph.PerWant {
		for i, r := range in.Want {
			one(i, in.Positions[r])
		}
		return
	}
	for i, p := range in.Positions {
		one(i, p)
	}
}

func (e *exec) ropeTable(op graph.Rope, lead graph.Lead) *ropeTable {
	for _, t := range e.tables {
		if &t.freqs[0] == &op.Freqs[0] && len(t.freqs) == len(op.Freqs) && t.magnitude == op.Magnitude && t.lead == lead {
			return t
		}
	}
	n := [...]int{graph.PerRow: e.p.Rows, graph.PerWant: e.p.Want}[lead] * len(op.Freqs)
	t := &ropeTable{freqs: op.Freqs, magnitude: op.Magnitude, lead: lead, cos: make([]float32, n), sin: make([]float32, n)}
	e.tables = append(e.tables, t)
	return t
}

func (e *exec) rope(op graph.Rope, s graph.Step) error {
	t, pairs := e.ropeTable(op, e.p.Values[s.Out].Lead), len(op.Freqs)
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(s.Out)
		dst, x := e.floats(s.Out), e.floats(s.In[0])
		for r := r0; r < r1; r++ {
			vec.Rope(dst[r*n:(r+1)*n], x[r*n:(r+1)*n], op.HeadDim,
				t.cos[r*pairs:(r+1)*pairs], t.sin[r*pairs:(r+1)*pairs], op.Interleaved)
		}
	})
	return nil
}

func (e *exec) temper(op graph.Temper, s graph.Step) error {
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(s.Out)
		for r := r0; r < r1; r++ {
			far := (int(e.in.Positions[r]) + op.Offset) / op.Period
			by := float32(1 + op.Beta*math.Log1p(float64(far)))
			vec.Scale(e.floats(s.Out)[r*n:(r+1)*n], e.floats(s.In[0])[r*n:(r+1)*n], by)
		}
	})
	return nil
}

// attention first stores the batch's keys and values, then attends: a row may
// read what another row of the batch has stored.
func (e *exec) attention(op graph.Attention, s graph.Step) error {
	e.put(op.Layer, s.In[1], s.In[2])
	if op.Bidirectional && e.ends == nil {
		e.ends = make([]int32, e.p.Rows)
	}
	e.attend(op, s)
	return nil
}

func (e *exec) sharedAttention(op graph.SharedAttention, s graph.Step) error {
	e.attend(op.Attention, s)
	return nil
}

// attend adds the step in which rows, or wanted rows, attend to what has been stored.
func (e *exec) attend(op graph.Attention, s graph.Step) {
	o := attention.AttendOptions{Scale: op.Scale, SoftCap: op.SoftCap, Sinks: e.vector(op.Sinks), Slopes: op.Slopes}
	sees := graph.Reach{Window: op.Window, Chunk: op.Chunk}
	wanted := e.p.Values[s.Out].Lead == graph.PerWant
	e.batchAttention(op.Heads, op.KVHeads, op.HeadDim, op.Layer, s, o, func(row, near int) attention.Query {
		if wanted {
			row = int(e.in.Want[row])
		}
		at := int(e.in.Positions[row])
		r := attention.Query{Table: e.in.Table(e.in.Seq[row], near), First: sees.First(at), End: at + 1, At: at}
		switch half := op.Window / 2; {
		case op.Bidirectional && op.Window > 0:
			r.First, r.End = max(0, at-half), min(int(e.ends[row]), at+half+1)
		case op.Bidirectional:
			r.End = int(e.ends[row])
		}
		return r
	})
}

// latentAttention is attention whose values are the beginnings of keys.
func (e *exec) latentAttention(op graph.LatentAttention, s graph.Step) error {
	e.put(op.Layer, s.In[1], s.In[1])
	e.batchAttention(op.Heads, 1, op.HeadDim, op.Layer, s, attention.AttendOptions{Scale: op.Scale}, func(row, near int) attention.Query {
		at := int(e.in.Positions[row])
		return attention.Query{Table: e.in.Table(e.in.Seq[row], near), End: at + 1, At: at}
	})
	return nil
}

// put adds a step that stores the batch's keys and values in a layer of the cache.
func (e *exec) put(layer, k, v int) {
	e.byRow(k, func(r0, r1 int) {
		ks, vs, n, to := e.floats(k), e.floats(v), e.width(k), e.kv.layers[layer]
		size := e.kv.spec.BlockSize
		for r := r0; r < r1; r++ {
			pos := int(e.in.Positions[r])
			block := e.in.Table(e.in.Seq[r], to.near)[pos/size]
			to.kv.Put(to.layer, block, pos%size, ks[r*n:(r+1)*n], vs[r*n:(r+1)*n])
		}
	})
}

// batchAttention adds a step in which every row attends by the query that ask returns, in the
// tables of the layer's pool. Layers share the scratch.
func (e *exec) batchAttention(heads, kvHeads, headDim, layer int, s graph.Step, o attention.AttendOptions, ask func(row, near int) attention.Query) {
	key := [3]int{heads, kvHeads, headDim}
	a := e.batched[key]
	if a == nil {
		if e.batched == nil {
			e.batched = make(map[[3]int]*attention.BatchAttention)
		}
		a = attention.NewBatchAttention(heads, kvHeads)
		e.batched[key] = a
	}
	e.steps = append(e.steps, func() {
		in := e.kv.layers[layer]
		e.queries = e.queries[:0]
		for r := range e.rows(s.In[0]) {
			e.queries = append(e.queries, ask(r, in.near))
		}
		a.Run(e.b.pool, in.kv, in.layer, e.floats(s.Out), e.floats(s.In[0]), e.queries, o)
	})
}

func (e *exec) experts(op graph.Experts, s graph.Step) error {
	o, err := e.expertsOptions(op)
	if err == nil {
		e.mix(o, op.Up.Shape[0], s)
	}
	return err
}

func (e *exec) expertsOptions(op graph.Experts) (o matmul.ExpertsOptions, err error) {
	stack := func(w, bias *weights.Tensor) (matmul.Stack, error) {
		if _, ok := w.Type.Size(w.Shape[2]); !ok {
			return matmul.Stack{}, fmt.Errorf("cpu: rows of %d of %s are no whole blocks of %v", w.Shape[2], w.Name, w.Type)
		}
		s := matmul.Stack{Type: w.Type, Data: w.Data, Out: w.Shape[1], In: w.Shape[2], Step: w.Step, Bias: e.vector(bias)}
		if k := e.copied[matrixOf(w)]; k != nil {
			s.Interleaved = k.data
		}
		return s, nil
	}
	var gate matmul.Stack
	if op.Gate != nil {
		if gate, err = stack(op.Gate, op.GateBias); err != nil {
			return o, err
		}
	}
	up, err := stack(op.Up, op.UpBias)
	if err != nil {
		return o, err
	}
	down, err := stack(op.Down, op.DownBias)
	if err != nil {
		return o, err
	}
	act, err := activation(op.Act)
	if err != nil {
		return o, err
	}
	return matmul.ExpertsOptions{Gate: gate, Up: up, Down: down, Act: act, Routing: matmul.Routing{
		Used: op.Used, Sigmoid: op.Sigmoid, Bias: e.vector(op.Bias), Groups: op.Groups, UsedGroups: op.UsedGroups, GroupMax: op.GroupMax,
		Renormalise: op.Renormalise, Scale: op.Scale, Factors: e.vector(op.Factors), OnInput: op.OnInput, SparseMixer: op.SparseMixer, Jitter: op.Jitter,
	}}, nil
}

// mix adds the step of a mixture of n experts.
func (e *exec) mix(o matmul.ExpertsOptions, n int, s graph.Step) {
	x, router := s.In[0], s.In[1]
	info := &e.p.Values[x]
	o.Room = &e.mixtures
	m := matmul.NewExperts(o, n, info.Shape[0])
	e.steps = append(e.steps, func() {
		m.Run(e.b.pool, e.floats(s.Out), e.floats(x), e.floats(router), e.rows(x), e.adapted[info.Lead])
	})
}
