// Package attention computes softmax(scale · q·Kᵀ) · V: of queries to the paged
// KV cache of a decoder (BatchAttention), and of rows that are all in memory at once
// (DenseAttention).
package attention

import (
	"fmt"
	"math"

	"quern/kernels/quant"
)

// A KV is a paged cache of keys and values.
//
// Data is (layers, blocks, 2, kvHeads, BlockSize, headDim): for each block the
// keys of every head, then the values. The tokens of one head are contiguous, so that a
// head's scores over a block are one small matrix product. Arrange swaps the
// last two dimensions of keys. A cache of latents has no values of its own; see NewLatents.
type KV struct {
	Type                           quant.Type // F32, F16, BF16, Q8_0 or Q4_0
	Layers, Blocks, BlockSize      int
	KVHeads, HeadDim, ValueDim     int
	Data                           []byte
	token, head, block, layerBytes int  // strides in bytes
	byDim                          bool // see Arrange
}

// spanTokens is the number of tokens whose scores are computed before their values are
// summed, and partitionSpans the number of such spans in a partition.
const (
	spanTokens     = 256
	partitionSpans = 8
)

// span returns the tokens of a span: whole blocks.
func (kv *KV) span() int { return max(1, spanTokens/kv.BlockSize) * kv.BlockSize }

// partition returns the tokens of a partition.
func (kv *KV) partition() int { return partitionSpans * kv.span() }

// NewKV lays out a cache; the caller sets Data to Size bytes. It fails when
// the sizes do not fit the type or an int.
func NewKV(t quant.Type, layers, blocks, blockSize, kvHeads, headDim int) (*KV, error) {
	return newKV(t, layers, blocks, blockSize, kvHeads, headDim, headDim)
}

// NewLatents lays out a cache of one key head whose values are the first valueDim numbers
// of its keys, which are fewer than those.
//
// DeepSeek-AI, "DeepSeek-V2", 2024, §2.1.
func NewLatents(t quant.Type, layers, blocks, blockSize, keyDim, valueDim int) (*KV, error) {
	if valueDim >= keyDim || valueDim < 1 {
		return nil, fmt.Errorf("values of %d in keys of %d", valueDim, keyDim)
	}
	if _, ok := t.Size(valueDim); !ok {
		return nil, fmt.Errorf("values of %d do not fit blocks of %v", valueDim, t)
	}
	return newKV(t, layers, blocks, blockSize, 1, keyDim, valueDim)
}

func newKV(t quant.Type, layers, blocks, blockSize, kvHeads, headDim, valueDim int) (*KV, error) {
	if t != quant.F32 && t != quant.F16 && t != quant.BF16 && t != quant.Q8_0 && t != quant.Q4_0 {
		return nil, fmt.Errorf("a KV cache of %v is not supported; use F16, BF16, F32, Q8_0 or Q4_0", t)
	}
	token, ok := t.Size(headDim)
	if !ok {
		return nil, fmt.Errorf("heads of %d do not fit blocks of %v", headDim, t)
	}
	kv := &KV{Type: t, Layers: layers, Blocks: blocks, BlockSize: blockSize, KVHeads: kvHeads, HeadDim: headDim, ValueDim: valueDim}
	kv.token = token
	kv.head = token * blockSize
	kv.block = 2 * kvHeads * kv.head
	if kv.latent() {
		kv.block = kv.head
	}
	kv.layerBytes = blocks * kv.block
	if layers <= 0 || blocks <= 0 || blockSize <= 0 || kvHeads <= 0 || kv.layerBytes <= 0 ||
		layers > math.MaxInt/kv.layerBytes || blocks > math.MaxInt/kv.block {
		return nil, fmt.Errorf("a KV cache of %d layers, %d blocks of %d, %d heads of %d", layers, blocks, blockSize, kvHeads, headDim)
	}
	return kv, nil
}

// Size returns the bytes Data must have.
func (kv *KV) Size() int { return kv.Layers * kv.layerBytes }

func (kv *KV) keys(layer int, block int32, head int) []byte {
	at := layer*kv.layerBytes + int(block)*kv.block + head*kv.head
	return kv.Data[at : at+kv.head]
}

// latent reports whether values are the beginnings of keys.
func (kv *KV) latent() bool { return kv.ValueDim < kv.HeadDim }

func (kv *KV) values(layer int, block int32, head int) []byte {
	if kv.latent() {
		return kv.keys(layer, block, head)
	}
	at := layer*kv.layerBytes + int(block)*kv.block + (kv.KVHeads+head)*kv.head
	return kv.Data[at : at+kv.head]
}

// Block is the bytes of a block in a layer: its keys, then its values.
func (kv *KV) Block(layer int, block int32) []byte {
	at := layer*kv.layerBytes + int(block)*kv.block
	return kv.Data[at : at+kv.block]
}

// Copy copies block src to block dst in every layer.
func (kv *KV) Copy(dst, src int32) {
	for l := range kv.Layers {
		copy(kv.Block(l, dst), kv.Block(l, src))
	}
}

// Put stores the key and value rows (kvHeads·headDim) of the token at place
// slot of a block. A cache of latents has no v.
func (kv *KV) Put(layer int, block int32, slot int, k, v []float32) {
	l := kv.Type.Layout()
	if kv.latent() {
		l.Encode(kv.keys(layer, block, 0)[slot*kv.token:(slot+1)*kv.token], k)
		return
	}
	for h := range kv.KVHeads {
		at := h * kv.HeadDim
		keys, value := kv.keys(layer, block, h), kv.values(layer, block, h)[slot*kv.token:(slot+1)*kv.token]
		if kv.InPairs() {
			kv.putPairs(keys, kv.values(layer, block, h), slot, k[at:at+kv.HeadDim], v[at:at+kv.HeadDim])
			continue
		}
		if kv.byDim { // the key is encoded in the value's place first
			l.Encode(value, k[at:at+kv.HeadDim])
			kv.moveKey(keys, value, slot, false)
		} else {
			l.Encode(keys[slot*kv.token:(slot+1)*kv.token], k[at:at+kv.HeadDim])
		}
		l.Encode(value, v[at:at+kv.HeadDim])
	}
}

// AttendOptions say how a row attends.
type AttendOptions struct {
	Scale   float32   // of the scores
	SoftCap float32   // above 0: scores become SoftCap · tanh(score / SoftCap)
	Sinks   []float32 // (group) scores without a value, or nil

	// Slopes, (group) or nil, times the distance of a token are taken off its score, after
	// SoftCap. Press et al., "Train Short, Test Long", 2022, §3.
	Slopes []float32
	ramps  [][]float32 // what they take off by distance, see slopeRamps; nil has it computed
}

// Attend writes softmax(scale · q·Kᵀ) · V over tokens first to n-1 of a
// sequence to dst, for the query heads that share key head head. Slopes count from
// token n-1. dst and q are
// (group, headDim); table names the sequence's blocks in order. Blocks before
// first's are not read. Scale is applied to the queries, not to the scores.
//
// The softmax runs over spans of a few blocks with a running maximum. Partitions of a
// few spans have softmaxes of their own, which are merged in order. Spans and partitions
// begin at multiples of their length, so scratch does not grow with n, partitions of a
// long sequence can run on several threads, and bits depend on neither. Milakov & Gimelshein,
// "Online normalizer calculation for softmax", 2018, algorithm 3 and §3.1; GQA:
// Ainslie et al., 2023; sinks: Xiao et al., 2023. Against float64 the result is
// within (headDim + n)·2⁻²³ of Σ|p·v|, plus what the cache's type and the soft
// cap lost.
func (kv *KV) Attend(dst, q []float32, layer, head int, table []int32, first, n int, o AttendOptions, s *Scratch) {
	group, dim := s.group, kv.HeadDim
	if len(dst) != group*kv.ValueDim || len(q) != group*dim || first < 0 || first >= n || (n-1)/kv.BlockSize >= len(table) || o.Sinks != nil && len(o.Sinks) != group || o.Slopes != nil && len(o.Slopes) != group {
		panic(fmt.Sprintf("attention: attention of %d floats into %d over tokens %d to %d in %d blocks with %d sinks and %d slopes", len(q), len(dst), first, n, len(table), len(o.Sinks), len(o.Slopes)))
	}
	s.rows = s.group
	copy(s.q, q)
	s.scaleQueries(kv, o.Scale)
	s.reach[0], s.at[0] = reach{first, n}, n-1
	s.clear(&s.total, o.Sinks)
	for partition := first / kv.partition(); partition*kv.partition() < n; partition++ {
		kv.attendPartition(s, layer, head, table, partition, o)
		s.total.merge(&s.partition, group)
	}
	s.total.finish(group)
	copy(dst, s.total.out)
}
