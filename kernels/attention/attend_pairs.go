package attention

import (
	"encoding/binary"
	"math"

	"quern/kernels/dot"
	"quern/kernels/quant"
)

// Where vectors multiply bf16 numbers, a cache of BF16 is stored in pairs: keys as (headDim/2,
// BlockSize, 2), values as (BlockSize/2, headDim, 2). Tiles then take two dimensions of a key, or
// the values of two tokens, at a time, and queries and the weights of a softmax are rounded to
// bf16 too, each by up to 2⁻⁹ of its size.

// InPairs reports whether the cache is stored in pairs.
func (kv *KV) InPairs() bool { return kv.byDim && kv.Type == quant.BF16 }

// takesPairs reports whether it is so, and the level in force has tiles for it.
func (kv *KV) takesPairs() bool { return kv.InPairs() && kv.pairsFit() }

// pairsFit reports whether the level in force has tiles for caches of BF16 with blocks and heads
// of these sizes.
func (kv *KV) pairsFit() bool {
	t := attendTilesOf(quant.BF16)
	return len(t.scores) > 0 && kv.BlockSize%32 == 0 && kv.HeadDim%t.lanes == 0
}

// putPairs stores the key k and the value v of the token at place slot of a block.
func (kv *KV) putPairs(keys, values []byte, slot int, k, v []float32) {
	for d := range k {
		binary.LittleEndian.PutUint16(keys[4*(d/2*kv.BlockSize+slot)+d%2*2:], quant.F32ToBF16(k[d]))
		binary.LittleEndian.PutUint16(values[4*(slot/2*kv.HeadDim+d)+slot%2*2:], quant.F32ToBF16(v[d]))
	}
}

// valueRows returns the values of tokens from up to to of a block in pairs, token by token.
func (kv *KV) valueRows(values []byte, from, to int) []byte {
	rows := make([]byte, (to-from)*kv.token)
	for slot := from; slot < to; slot++ {
		move2(values[4*(slot/2*kv.HeadDim)+slot%2*2:], 4, rows[(slot-from)*kv.token:(slot-from+1)*kv.token], true)
	}
	return rows
}

// roundQueries writes the queries to s.act as bf16.
func (s *Scratch) roundQueries(dim int) {
	n := s.rows * dim
	s.act, s.actStride = s.quantized, 2*dim
	dot.RoundBF16(s.act, s.q[:(n+31)/32*32])
}

// roundWeights writes the weights of query i for the tokens at places from to to of a span to s.pairs.
func (s *Scratch) roundWeights(i, from, to int) {
	from, to = i*s.span+from/32*32, i*s.span+(to+31)/32*32
	dot.RoundBF16(quant.Floats(s.pairs[from/2:to/2]), s.scores[from:to])
}

// sumPairs is sumValues in pairs. A pair of which one token counts is added with zeros in place
// of the other, which only one query at a time may have.
func (kv *KV) sumPairs(s *Scratch, first, rows int, values []byte, at, from, to int, next []byte) {
	dim, tiles := kv.HeadDim, attendTilesOf(kv.Type).values
	out, pair, weights := s.partition.out[first*dim:], 2*kv.token, s.pairs[(first*s.span+at)/2:]
	for from < to {
		if from%2 == 0 && from+1 < to {
			n := (to - from) / 2
			sumTiles(tiles, out, dim, dim, values[from/2*pair:][:n*pair], n, pair, weights[from/2:], s.span/2, rows, distance(values, next))
			from += 2 * n
			continue
		}
		mask := uint32(0xffff) << (from % 2 * 16)
		for d, both := 0, values[from/2*pair:][:pair]; d < pair; d += 4 {
			binary.LittleEndian.PutUint32(s.half[d:], binary.LittleEndian.Uint32(both[d:])&mask)
		}
		s.weight[0] = math.Float32frombits(math.Float32bits(weights[from/2]) & mask)
		sumTiles(tiles, out, dim, dim, s.half, 1, pair, s.weight[:], 1, 1, 0)
		from++
	}
}
