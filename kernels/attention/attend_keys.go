package attention

import (
	"fmt"
	"unsafe"

	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/vec"
)

// Arrange stores the keys of a block as (headDim, BlockSize), where the level
// in force has kernels for that, instead of (BlockSize, headDim). One dimension of all
// tokens is then a vector: scores are sums of vectors, nothing is added across lanes,
// and a loaded vector serves all queries of the head. Q8_0 has, for every 32 dimensions,
// the BlockSize scales and then int8 of (8, BlockSize, 4), four dimensions of a token
// together; Q4_0 the scales and (4, BlockSize, 4) bytes, of eight. A cache of BF16 is stored in
// pairs, its values too; see attend_pairs.go. Latents stay as they are, since their values are read token by token. It must be
// called before the first Put.
func (kv *KV) Arrange() {
	t := attendTilesOf(kv.Type)
	kv.byDim = !kv.latent() && len(t.scores) > 0 && kv.BlockSize%t.lanes == 0
	if kv.quantised() && kv.HeadDim > maxQ8Dim || kv.Type == quant.BF16 && !kv.pairsFit() {
		kv.byDim = false
	}
}

// quantised reports whether queries are quantised for the cache's type.
func (kv *KV) quantised() bool { return kv.Type.Layout().With != quant.F32 }

// maxQ8Dim is the largest headDim for which keys of such types are stored by dimension: a
// query is quantised to one group of ActQ8_32.
const maxQ8Dim = 256

// moveKey copies one key between row, its encoded form, and its slot in a block whose
// keys are stored by dimension: to the block, or with back to row.
func (kv *KV) moveKey(keys, row []byte, slot int, back bool) {
	size := kv.BlockSize
	switch kv.Type {
	case quant.F16:
		move2(keys[2*slot:], 2*size, row, back)
	case quant.F32, quant.BF16: // of BF16 two dimensions are together
		move4(keys[4*slot:], 4*size, row, back)
	case quant.Q8_0, quant.Q4_0:
		bytes := kv.Type.Layout().Bytes
		for ; len(row) > 0; keys, row = keys[bytes*size:], row[bytes:] {
			move2(keys[2*slot:], 2*size, row[:2], back)
			move4(keys[2*size+4*slot:], 4*size, row[2:bytes], back)
		}
	}
}

// move2 copies two bytes at a time from row to places step bytes apart, or back.
func move2(places []byte, step int, row []byte, back bool) {
	for at := 0; len(row) >= 2; at, row = at+step, row[2:] {
		place, unit := (*[2]byte)(places[at:]), (*[2]byte)(row)
		if back {
			place, unit = unit, place
		}
		*place = *unit
	}
}

// move4 is move2 for four bytes at a time.
func move4(places []byte, step int, row []byte, back bool) {
	for at := 0; len(row) >= 4; at, row = at+step, row[4:] {
		place, unit := (*[4]byte)(places[at:]), (*[4]byte)(row)
		if back {
			place, unit = unit, place
		}
		*place = *unit
	}
}

// keyRows returns the keys of a block token by token.
func (kv *KV) keyRows(keys []byte) []byte {
	if !kv.byDim {
		return keys
	}
	rows := make([]byte, len(keys))
	for i := range kv.BlockSize {
		kv.moveKey(keys, rows[i*kv.token:(i+1)*kv.token], i, true)
	}
	return rows
}

// scoreBlock writes the products of all queries with the keys of a block to out, row i
// at i·s.span: of tokens keys from skip on, or of all. It prefetches next, which is as
// long as keys and lies in the same allocation.
func (kv *KV) scoreBlock(s *Scratch, out []float32, keys []byte, skip, tokens int, next []byte) {
	t := attendTilesOf(kv.Type)
	size, dim := kv.BlockSize, kv.HeadDim
	if !kv.byDim || len(t.scores) == 0 || size%t.lanes != 0 || kv.InPairs() && !kv.takesPairs() {
		vec.Prefetch(next[:len(next)/2])
		dot.RowsCached(kv.Type, out[skip:], s.span, kv.keyRows(keys)[skip*kv.token:], tokens, dim, s.act, s.actStride, s.rows)
		vec.Prefetch(next[len(next)/2:])
		return
	}
	if len(out) < (s.rows-1)*s.span+size || len(keys) != size*kv.token || len(s.act) < s.rows*s.actStride {
		panic(fmt.Sprintf("attention: scores of %d rows of %d and %d keys in %d bytes into %d floats, stride %d", s.rows, dim, size, len(keys), len(out), s.span))
	}
	rows := dim / kv.Type.Layout().Block
	if kv.InPairs() {
		rows = dim / 2
	}
	q := unsafe.Slice((*float32)(unsafe.Pointer(&s.act[0])), len(s.act)/4)
	sumTiles(t.scores, out, s.span, size, keys, rows, len(keys)/rows, q, s.actStride/4, s.rows, distance(keys, next))
}

// Scores writes q·Kᵀ for one query q (headDim) and the first len(dst) tokens of
// a sequence to dst; table names the sequence's blocks in order. It is for callers that
// need the scores themselves. With a cache of Q8_0 or Q4_0 it allocates.
func (kv *KV) Scores(dst, q []float32, layer, head int, table []int32) {
	size, dim := kv.BlockSize, kv.HeadDim
	if len(q) != dim || len(dst) > len(table)*size {
		panic(fmt.Sprintf("attention: scores of %d floats with %d tokens in %d blocks", len(q), len(dst), len(table)))
	}
	act := quant.Floats(q)
	if with := kv.Type.Layout().With; with != quant.F32 {
		act = make([]byte, quant.ActBytes(with, dim))
		quant.Quantize(act, with, q, dim)
	}
	for t := 0; t < len(dst); t += size {
		keys, out := kv.keys(layer, table[t/size], head), dst[t:min(t+size, len(dst))]
		if kv.byDim && !kv.quantised() && !kv.InPairs() {
			clear(out)
			dot.AddRows(kv.Type, out, keys, len(keys)/dim, q)
			continue
		}
		dot.Rows(kv.Type, out, len(out), kv.keyRows(keys), len(out), dim, act, len(act), 1)
	}
}
