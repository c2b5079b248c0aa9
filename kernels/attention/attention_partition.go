package attention

import (
	"math"

	"quern/kernels/quant"
	"quern/kernels/vec"
)

// Scratch is what one worker needs to attend; see NewScratch.
type Scratch struct {
	group, most int // query heads that share a key head, most tokens of a tile
	span        int

	rows             int // queries: group for each token of the tile
	reach            []reach
	at               []int     // places of the tokens themselves
	q                []float32 // (rows, headDim)
	quantized        []byte    // queries as the kernels want them
	pairs            []float32 // weights as bf16, two in one: (rows, span/2)
	half             []byte    // two tokens' values of which one counts
	weight           [1]float32
	act              []byte // q, or quantized
	actStride        int
	scores           []float32 // (rows, span)
	partition, total softmax
}

// reach is the tokens from first up to end that one token attends to.
type reach struct{ first, end int }

// A softmax is the state of a softmax over some of the tokens, for several rows: the sums
// Σ exp(score - top)·value and the divisors Σ exp(score - top).
type softmax struct {
	top, sum, out []float32
}

func newSoftmax(rows, dim int) softmax {
	return softmax{make([]float32, rows), make([]float32, rows), make([]float32, rows*dim)}
}

// NewScratch makes scratch for groups of heads sharing one key head.
func NewScratch(kv *KV, group int) *Scratch { return newScratch(kv, group, 1) }

// newScratch makes scratch for the queries of up to most tokens at a time.
func newScratch(kv *KV, group, most int) *Scratch {
	rows := group * most
	s := &Scratch{
		group: group, most: most, span: kv.span(),
		reach:     make([]reach, most),
		at:        make([]int, most),
		q:         make([]float32, rows*kv.HeadDim, rows*kv.HeadDim+31),
		scores:    make([]float32, rows*kv.span()),
		partition: newSoftmax(rows, kv.ValueDim), total: newSoftmax(rows, kv.ValueDim),
	}
	s.quantized = make([]byte, kv.queryBytes(rows))
	if kv.takesPairs() {
		s.pairs = make([]float32, rows*s.span/2)
		s.half = make([]byte, 2*kv.token)
	}
	return s
}

// Fits reports whether s serves kv and group.
func (s *Scratch) Fits(kv *KV, group int) bool {
	rows := group * s.most
	return s.group == group && len(s.q) == rows*kv.HeadDim && len(s.total.out) == rows*kv.ValueDim && s.span == kv.span() && len(s.quantized) == kv.queryBytes(rows)
}

// queryBytes is what rows of queries take that are not multiplied as float32.
func (kv *KV) queryBytes(rows int) int {
	switch with := kv.Type.Layout().With; {
	case with != quant.F32:
		return rows * quant.ActBytes(with, kv.HeadDim)
	case kv.takesPairs():
		return 2 * ((rows*kv.HeadDim + 31) / 32 * 32)
	}
	return 0
}

// tokens is how many tokens the queries in s are of.
func (s *Scratch) tokens() int { return (s.rows + s.group - 1) / s.group }

// scaleQueries multiplies the queries in q by scale, which saves multiplying scores, and
// quantises them where the kernels want that.
func (s *Scratch) scaleQueries(kv *KV, scale float32) {
	q, with := s.q[:s.rows*kv.HeadDim], kv.Type.Layout().With
	vec.Scale(q, q, scale)
	s.act, s.actStride = quant.Floats(q), 4*kv.HeadDim
	if kv.takesPairs() {
		s.roundQueries(kv.HeadDim)
	}
	if with != quant.F32 {
		s.act, s.actStride = s.quantized, quant.ActBytes(with, kv.HeadDim)
		quant.Quantize(s.act, with, q, kv.HeadDim)
	}
}

// clear makes f the softmax over no tokens, or over sinks (group): scores without a value.
func (s *Scratch) clear(f *softmax, sinks []float32) {
	clear(f.out[:s.rows*len(f.out)/len(f.top)])
	for i := range s.rows {
		f.top[i], f.sum[i] = float32(math.Inf(-1)), 0
		if sinks != nil {
			f.top[i], f.sum[i] = sinks[i%s.group], 1
		}
	}
}

// merge adds the softmax of other tokens to rows of f.
func (f *softmax) merge(g *softmax, rows int) {
	dim := len(f.out) / len(f.top)
	for i := range rows {
		out, more := f.out[i*dim:(i+1)*dim], g.out[i*dim:(i+1)*dim]
		top := max(f.top[i], g.top[i])
		was, is := float32(1), float32(1)
		if f.top[i] != top {
			was = vec.ExpScalar(f.top[i] - top)
		}
		if g.top[i] != top {
			is = vec.ExpScalar(g.top[i] - top)
		}
		f.top[i], f.sum[i] = top, float32(f.sum[i]*was)+float32(g.sum[i]*is)
		vec.Scale(out, out, was)
		vec.Scale(more, more, is)
		vec.Add(out, out, more)
	}
}

// finish divides rows of f by their sums.
func (f *softmax) finish(rows int) {
	dim := len(f.out) / len(f.top)
	for i := range rows {
		out := f.out[i*dim : (i+1)*dim]
		vec.Scale(out, out, 1/f.sum[i])
	}
}

// attendPartition computes the softmax over one partition's tokens in s.partition.
func (kv *KV) attendPartition(s *Scratch, layer, head int, table []int32, partition int, o AttendOptions) {
	s.clear(&s.partition, nil)
	span := kv.span()
	// The tokens that any query reaches.
	all := s.reach[0]
	for _, r := range s.reach[1:s.tokens()] {
		all = reach{min(all.first, r.first), max(all.end, r.end)}
	}
	from, to := max(partition*kv.partition(), all.first/span*span), min((partition+1)*kv.partition(), all.end)
	for at := from; at < to; at += span {
		kv.attendSpan(s, layer, head, table, max(at, all.first), min(at+span, to), at, o)
	}
}

// attendSpan adds tokens lo up to hi, of the span that begins at base, to
// s.partition.
func (kv *KV) attendSpan(s *Scratch, layer, head int, table []int32, lo, hi, base int, o AttendOptions) {
	size, dim := kv.BlockSize, kv.ValueDim
	// Blocks are scattered over the cache, so the next one is prefetched while one is read.
	for b := lo / size; b*size < hi; b++ {
		skip := max(0, lo-b*size)
		kv.scoreBlock(s, s.scores[b*size-base:], kv.keys(layer, table[b], head), skip, min(size, hi-b*size)-skip, kv.behind(layer, table, b, head))
	}
	// Tokens that every query reaches.
	both := reach{lo, hi}
	for i := range s.rows {
		r := s.reach[i/s.group]
		r.first, r.end = max(r.first, lo), min(r.end, hi)
		both.first, both.end = max(both.first, r.first), min(both.end, r.end)
		if r.first < r.end {
			p := s.scores[i*s.span:][r.first-base : r.end-base]
			if o.SoftCap > 0 {
				vec.SoftCap(p, p, o.SoftCap)
			}
			if o.Slopes != nil {
				s.slope(p, i, r.first, &o)
			}
			softmaxBlock(p, s.partition.out[i*dim:(i+1)*dim], &s.partition.top[i], &s.partition.sum[i], largest(p))
			if kv.takesPairs() {
				s.roundWeights(i, r.first-base, r.end-base)
			}
		}
	}
	if both.first >= both.end {
		both = reach{hi, hi}
	}
	for b := lo / size; b*size < hi; b++ {
		var next []byte // keys of the next span
		if b+s.span/size < len(table) && !kv.latent() {
			next = kv.keys(layer, table[b+s.span/size], head)
		}
		values := kv.values(layer, table[b], head)
		// Tokens before those that every query reaches, those themselves, tokens after.
		c0 := min(max(both.first, b*size), (b+1)*size)
		c1 := min(max(both.end, c0), (b+1)*size)
		if kv.InPairs() { // whole pairs
			c0 = (c0 + 1) / 2 * 2
			c1 = max(c0, c1/2*2)
		}
		kv.addValues(s, values, b, b*size, c0, base, lo, hi)
		if c0 < c1 {
			kv.sumValues(s, 0, s.rows, values, b*size-base, c0-b*size, c1-b*size, next)
		}
		kv.addValues(s, values, b, c1, (b+1)*size, base, lo, hi)
	}
}

// behind is what is read after the scores of block b: its values, or the next keys where those
// are in the caches then.
func (kv *KV) behind(layer int, table []int32, b, head int) []byte {
	if !kv.latent() {
		return kv.values(layer, table[b], head)
	}
	if b+1 < len(table) {
		return kv.keys(layer, table[b+1], head)
	}
	return nil
}

// slope takes slope times its distance off the scores of row i for the tokens from first on.
func (s *Scratch) slope(scores []float32, i, first int, o *AttendOptions) {
	head, behind := i%s.group, first-s.at[i/s.group]
	if o.ramps == nil {
		for k := range scores {
			scores[k] -= float32(o.Slopes[head] * float32(max(behind+k, -behind-k)))
		}
		return
	}
	ramp := o.ramps[head]
	vec.Add(scores, scores, ramp[len(ramp)/2+behind:][:len(scores)])
}

// slopeRamps are what slopes take off scores of tokens up to far away, by head: minus slope
// times distance, (2·far+1), with distance 0 in the middle.
func slopeRamps(slopes []float32, far int) [][]float32 {
	ramps := make([][]float32, len(slopes))
	for h, slope := range slopes {
		ramps[h] = make([]float32, 2*far+1)
		for i := range ramps[h] {
			ramps[h][i] = -float32(slope * float32(max(i-far, far-i)))
		}
	}
	return ramps
}

// addValues adds the tokens from t0 up to t1 of block b that a query reaches, for each
// query by itself.
func (kv *KV) addValues(s *Scratch, values []byte, b, t0, t1, base, lo, hi int) {
	if t0 >= t1 {
		return
	}
	start := b * kv.BlockSize
	for i := range s.rows {
		r := s.reach[i/s.group]
		from, to := max(r.first, lo, t0), min(r.end, hi, t1)
		if from < to {
			kv.sumValues(s, i, 1, values, start-base, from-start, to-start, nil)
		}
	}
}
