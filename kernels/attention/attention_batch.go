package attention

import (
	"fmt"
	"slices"

	"quern/kernels/threads"
)

// A Query is what one row of a batch attends to: tokens First up to End of the sequence
// whose blocks Table lists.
type Query struct {
	Table      []int32
	First, End int
	At         int // the row's own place, from which slopes count
}

// A BatchAttention computes attention for all rows of a batch over a paged cache.
// Adjacent rows of one sequence share what is read of the cache. Where there are few
// rows, the partitions of a long sequence are spread over threads, and where these are few too, the
// heads that share a key head. A row's bits depend on none of that: they are those of KV.Attend.
// It is made once per number of heads and is not safe for concurrent use.
type BatchAttention struct {
	heads, kvHeads, group int

	kv      *KV
	scratch []*Scratch
	tiles   []attendTile
	states  []softmax // of (tile, partition, key head), when partitions are computed apart
	slopes  []float32 // those that ramps are of
	ramps   [][]float32

	// The call in progress.
	layer        int
	dst, q       []float32
	queries      []Query
	o            AttendOptions
	partitions   int
	pieces       int // of the heads that share a key head; more than 1 only where tiles are single rows
	whole        threads.Region
	onePartition threads.Region
	merge        threads.Region
}

// attendTile is rows from first up to end of a batch, of one sequence.
type attendTile struct{ first, end int }

// tileQueries is how many query rows, heads times tokens, a tile has at most:
// their queries, scores and results stay in the second-level cache.
const tileQueries = 48

// NewBatchAttention prepares attention of heads query heads on kvHeads key
// heads.
func NewBatchAttention(heads, kvHeads int) *BatchAttention {
	if kvHeads <= 0 || heads <= 0 || heads%kvHeads != 0 {
		panic(fmt.Sprintf("attention: attention of %d heads on %d", heads, kvHeads))
	}
	a := &BatchAttention{heads: heads, kvHeads: kvHeads, group: heads / kvHeads}
	a.whole.F, a.onePartition.F, a.merge.F = a.attendWhole, a.attendOnePartition, a.mergePartitions
	return a
}

// Run writes the attention of every query to dst. q is (len(queries), heads, headDim) and dst
// as wide as values; o.Sinks and o.Slopes have heads values or none. Keys and values of all
// tokens in reach must have been Put.
func (a *BatchAttention) Run(p *threads.Pool, kv *KV, layer int, dst, q []float32, queries []Query, o AttendOptions) {
	width := a.heads * kv.HeadDim
	if kv.KVHeads != a.kvHeads || len(q) != len(queries)*width || len(dst) != len(queries)*a.heads*kv.ValueDim || o.Sinks != nil && len(o.Sinks) != a.heads || o.Slopes != nil && len(o.Slopes) != a.heads {
		panic(fmt.Sprintf("attention: attention of %d rows of %d heads of %d, %d floats into %d, on %d key heads, with %d sinks and %d slopes",
			len(queries), a.heads, kv.HeadDim, len(q), len(dst), kv.KVHeads, len(o.Sinks), len(o.Slopes)))
	}
	for _, r := range queries {
		if r.First < 0 || r.First >= r.End || (r.End-1)/kv.BlockSize >= len(r.Table) {
			panic(fmt.Sprintf("attention: attention over tokens %d to %d in %d blocks", r.First, r.End, len(r.Table)))
		}
	}
	most := max(1, tileQueries/a.group)
	for len(a.scratch) < p.Workers() {
		a.scratch = append(a.scratch, nil)
	}
	for i, s := range a.scratch {
		if s == nil || !s.Fits(kv, a.group) {
			a.scratch[i] = newScratch(kv, a.group, most)
			a.states = nil
		}
	}
	a.kv, a.layer, a.dst, a.q, a.queries, a.o = kv, layer, dst, q, queries, o
	if o.Slopes != nil {
		a.ramp(o.Slopes)
	}
	a.cut(most)
	items, single := len(a.tiles)*a.kvHeads, len(a.tiles) == len(queries)
	a.pieces = 1
	if chunks := items * a.partitions; single && chunks > 0 && chunks < p.Workers() {
		a.pieces = min(a.group, (p.Workers()+chunks-1)/chunks)
	}
	// With a few chunks for each worker all workers finish at about the same time.
	if items >= 4*p.Workers() || p.Workers() == 1 || a.partitions == 1 || !single {
		p.Run(items*a.pieces, &a.whole)
	} else {
		for len(a.states) < items*a.partitions {
			a.states = append(a.states, newSoftmax(a.group, kv.ValueDim))
		}
		p.Run(items*a.partitions*a.pieces, &a.onePartition)
		p.Run(items, &a.merge)
	}
	a.dst, a.q, a.queries, a.o = nil, nil, nil, AttendOptions{}
}

// ramp makes ramps of slopes for the queries, unless those of an earlier run serve.
func (a *BatchAttention) ramp(slopes []float32) {
	far := 0
	for _, r := range a.queries {
		far = max(far, r.At-r.First, r.End-1-r.At)
	}
	if !slices.Equal(slopes, a.slopes) || len(a.ramps[0])/2 < far {
		a.slopes, a.ramps = slices.Clone(slopes), slopeRamps(slopes, far)
	}
	a.o.ramps = a.ramps
}

// cut makes tiles of adjacent rows that share blocks, and sets a.partitions to the most
// partitions that a row reaches.
func (a *BatchAttention) cut(most int) {
	a.tiles, a.partitions = a.tiles[:0], 1
	partition := a.kv.partition()
	for i, r := range a.queries {
		a.partitions = max(a.partitions, (r.End+partition-1)/partition-r.First/partition)
		if n := len(a.tiles); i > 0 && a.tiles[n-1].end-a.tiles[n-1].first < most && sameTable(a.queries[i-1].Table, r.Table) {
			a.tiles[n-1].end = i + 1
			continue
		}
		a.tiles = append(a.tiles, attendTile{i, i + 1})
	}
}

func sameTable(a, b []int32) bool { return len(a) == len(b) && &a[0] == &b[0] }

// load puts the queries of a tile and a piece of the heads of a key head into s and returns the
// options of those heads.
func (a *BatchAttention) load(s *Scratch, t attendTile, head int, h heads) AttendOptions {
	n := a.kv.HeadDim
	s.rows = (t.end - t.first) * (h.end - h.first)
	for i := t.first; i < t.end; i++ {
		from := (i*a.kvHeads + head) * a.group
		copy(s.q[(i-t.first)*a.group*n:], a.q[(from+h.first)*n:(from+h.end)*n])
		s.reach[i-t.first], s.at[i-t.first] = reach{a.queries[i].First, a.queries[i].End}, a.queries[i].At
	}
	s.scaleQueries(a.kv, a.o.Scale)
	return a.options(head, h)
}

// options are those of some heads of a key head.
func (a *BatchAttention) options(head int, h heads) AttendOptions {
	o := a.o
	first, end := head*a.group+h.first, head*a.group+h.end
	if o.Sinks != nil {
		o.Sinks = o.Sinks[first:end]
	}
	if o.Slopes != nil {
		o.Slopes, o.ramps = o.Slopes[first:end], o.ramps[first:end]
	}
	return o
}

// heads are those of a key head from first up to end.
type heads struct{ first, end int }

func (a *BatchAttention) piece(i int) heads {
	return heads{a.group * i / a.pieces, a.group * (i + 1) / a.pieces}
}

// attendWhole computes a tile's rows for one key head.
func (a *BatchAttention) attendWhole(worker, c int) {
	h := a.piece(c % a.pieces)
	c /= a.pieces
	s, t, head := a.scratch[worker], a.tiles[c/a.kvHeads], c%a.kvHeads
	o := a.load(s, t, head, h)
	s.clear(&s.total, o.Sinks)
	first, end := s.reach[0].first, 0
	for _, r := range s.reach[:t.end-t.first] {
		first, end = min(first, r.first), max(end, r.end)
	}
	partition := a.kv.partition()
	for p := first / partition; p*partition < end; p++ {
		a.kv.attendPartition(s, a.layer, head, a.queries[t.first].Table, p, o)
		s.total.merge(&s.partition, s.rows)
	}
	s.total.finish(s.rows)
	a.store(s.total.out, t, head, h)
}

// attendOnePartition computes one partition of one row for a piece of the heads of one key head.
func (a *BatchAttention) attendOnePartition(worker, c int) {
	h := a.piece(c % a.pieces)
	c /= a.pieces
	// The heads of a partition are consecutive chunks, as are their keys and values.
	head, p, item := c%a.kvHeads, c/a.kvHeads%a.partitions, c/a.kvHeads/a.partitions
	s, t := a.scratch[worker], a.tiles[item]
	q := &a.queries[t.first]
	if p += q.First / a.kv.partition(); p*a.kv.partition() >= q.End {
		return
	}
	o := a.load(s, t, head, h)
	a.kv.attendPartition(s, a.layer, head, q.Table, p, o)
	st := &a.states[c]
	copy(st.top[h.first:h.end], s.partition.top)
	copy(st.sum[h.first:h.end], s.partition.sum)
	copy(st.out[h.first*a.kv.ValueDim:h.end*a.kv.ValueDim], s.partition.out)
}

// mergePartitions merges the partitions of one row and key head, in order.
func (a *BatchAttention) mergePartitions(worker, c int) {
	s, t, head := a.scratch[worker], a.tiles[c/a.kvHeads], c%a.kvHeads
	all := heads{0, a.group}
	s.rows = a.group
	s.clear(&s.total, a.options(head, all).Sinks)
	q, partition := &a.queries[t.first], a.kv.partition()
	for p := 0; (q.First/partition+p)*partition < q.End; p++ {
		s.total.merge(&a.states[(c/a.kvHeads*a.partitions+p)*a.kvHeads+head], s.rows)
	}
	s.total.finish(s.rows)
	a.store(s.total.out, t, head, all)
}

func (a *BatchAttention) store(out []float32, t attendTile, head int, h heads) {
	n := a.kv.ValueDim
	for i := t.first; i < t.end; i++ {
		from := (i*a.kvHeads + head) * a.group
		copy(a.dst[(from+h.first)*n:(from+h.end)*n], out[(i-t.first)*a.group*n:])
	}
}
