package kernels

import (
	"fmt"
	"math"

	"quern/kernels/quant"
)

// A KV is a paged cache of keys and values.
//
// Data is (layers, blocks, 2, kvHeads, BlockSize, headDim): for each block the
// keys of every head, then the values; the tokens of one head lie together, so
// that a head's scores over a block are one small matrix product.
type KV struct {
	Type                           quant.Type // F32, F16 or Q8_0
	Layers, Blocks, BlockSize      int
	KVHeads, HeadDim               int
	Data                           []byte
	token, head, block, layerBytes int // strides in bytes
}

// NewKV lays out a cache; the caller sets Data to Size bytes. It fails when
// the sizes do not fit the type or an int.
func NewKV(t quant.Type, layers, blocks, blockSize, kvHeads, headDim int) (*KV, error) {
	if t != quant.F32 && t != quant.F16 && t != quant.Q8_0 {
		return nil, fmt.Errorf("kernels: a KV cache of %v is not supported; use F16, F32 or Q8_0", t)
	}
	token, ok := t.Size(headDim)
	if !ok {
		return nil, fmt.Errorf("kernels: heads of %d do not fit blocks of %v", headDim, t)
	}
	kv := &KV{Type: t, Layers: layers, Blocks: blocks, BlockSize: blockSize, KVHeads: kvHeads, HeadDim: headDim}
	kv.token = token
	kv.head = token * blockSize
	kv.block = 2 * kvHeads * kv.head
	kv.layerBytes = blocks * kv.block
	if layers <= 0 || blocks <= 0 || blockSize <= 0 || kvHeads <= 0 || kv.layerBytes <= 0 ||
		layers > math.MaxInt/kv.layerBytes || blocks > math.MaxInt/kv.block {
		return nil, fmt.Errorf("kernels: a KV cache of %d layers, %d blocks of %d, %d heads of %d", layers, blocks, blockSize, kvHeads, headDim)
	}
	return kv, nil
}

// Size returns the bytes Data must have.
func (kv *KV) Size() int { return kv.Layers * kv.layerBytes }

func (kv *KV) keys(layer int, block int32, head int) []byte {
	at := layer*kv.layerBytes + int(block)*kv.block + head*kv.head
	return kv.Data[at : at+kv.head]
}

func (kv *KV) values(layer int, block int32, head int) []byte {
	at := layer*kv.layerBytes + int(block)*kv.block + (kv.KVHeads+head)*kv.head
	return kv.Data[at : at+kv.head]
}

// Copy copies block src to block dst in every layer.
func (kv *KV) Copy(dst, src int32) {
	for l := range kv.Layers {
		at := kv.Data[l*kv.layerBytes:]
		copy(at[int(dst)*kv.block:(int(dst)+1)*kv.block], at[int(src)*kv.block:])
	}
}

// Put stores the key and value rows (kvHeads·headDim) of the token at place
// slot of a block.
func (kv *KV) Put(layer int, block int32, slot int, k, v []float32) {
	l := kv.Type.Layout()
	for h := range kv.KVHeads {
		at := h * kv.HeadDim
		l.Encode(kv.keys(layer, block, h)[slot*kv.token:(slot+1)*kv.token], k[at:at+kv.HeadDim])
		l.Encode(kv.values(layer, block, h)[slot*kv.token:(slot+1)*kv.token], v[at:at+kv.HeadDim])
	}
}

// Scratch is what one worker needs to attend; see NewScratch.
type Scratch struct {
	scores, top, sum []float32
	q                []byte
}

// NewScratch makes scratch for groups of heads sharing one key head.
func NewScratch(kv *KV, group int) *Scratch {
	return &Scratch{
		scores: make([]float32, group*kv.BlockSize),
		top:    make([]float32, group),
		sum:    make([]float32, group),
		q:      make([]byte, group*quant.ActBytes(kv.Type.Layout().With, kv.HeadDim)),
	}
}

// Fits reports whether s serves kv and group.
func (s *Scratch) Fits(kv *KV, group int) bool {
	return len(s.top) == group && len(s.scores) == group*kv.BlockSize &&
		len(s.q) == group*quant.ActBytes(kv.Type.Layout().With, kv.HeadDim)
}

// AttendOptions say how a row attends.
type AttendOptions struct {
	Scale   float32   // of the scores
	SoftCap float32   // above 0: scores become SoftCap · tanh(score / SoftCap)
	Sinks   []float32 // (group) scores without a value, or nil
}

// Attend writes softmax(scale · q·Kᵀ) · V over tokens first to n-1 of a
// sequence to dst, for the query heads that share key head head. dst and q are
// (group, headDim); table names the sequence's blocks in order. Blocks before
// first's are not read.
//
// The softmax is taken block by block with a running maximum, so any n needs
// the same scratch. Milakov & Gimelshein, "Online normalizer calculation for
// softmax", 2018, algorithm 3; GQA: Ainslie et al., 2023; sinks: Xiao et al.,
// 2023. Against float64 the result is within (headDim + n)·2⁻²³ of Σ|p·v|, plus
// what the cache's type and the soft cap lost.
func (kv *KV) Attend(dst, q []float32, layer, head int, table []int32, first, n int, o AttendOptions, s *Scratch) {
	group, dim := len(s.top), kv.HeadDim
	if len(dst) != group*dim || len(q) != group*dim || first < 0 || first >= n || (n-1)/kv.BlockSize >= len(table) || o.Sinks != nil && len(o.Sinks) != group {
		panic(fmt.Sprintf("kernels: attention of %d floats into %d over tokens %d to %d in %d blocks with %d sinks", len(q), len(dst), first, n, len(table), len(o.Sinks)))
	}
	with := kv.Type.Layout().With
	act, stride := quant.Floats(q), 4*dim
	if with != quant.F32 {
		act, stride = s.q, quant.ActBytes(with, dim)
		Quantize(act, with, q, dim)
	}
	clear(dst)
	for g := range group {
		s.top[g], s.sum[g] = float32(math.Inf(-1)), 0
		if o.Sinks != nil {
			s.top[g], s.sum[g] = o.Sinks[g], 1
		}
	}
	size := kv.BlockSize
	for b := first / size; b*size < n; b++ {
		skip := max(0, first-b*size)
		tokens := min(size, n-b*size) - skip
		kv.Type.DotRows(s.scores, size, kv.keys(layer, table[b], head)[skip*kv.token:], tokens, dim, act, stride, group)
		values := kv.values(layer, table[b], head)[skip*kv.token:]
		for g := range group {
			p, out := s.scores[g*size:g*size+tokens], dst[g*dim:(g+1)*dim]
			Scale(p, p, o.Scale)
			if o.SoftCap > 0 {
				SoftCap(p, p, o.SoftCap)
			}
			top := s.top[g]
			for _, v := range p {
				top = max(top, v)
			}
			if top > s.top[g] {
				f := exp(s.top[g] - top)
				s.sum[g] *= f
				for i := range out {
					out[i] *= f
				}
				s.top[g] = top
			}
			s.sum[g] += expSum(p, top)
			kv.Type.AddRows(out, values, kv.token, p)
		}
	}
	for g := range group {
		f := 1 / s.sum[g]
		out := dst[g*dim : (g+1)*dim]
		for i := range out {
			out[i] *= f
		}
	}
}
