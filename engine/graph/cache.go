package graph

import (
	"fmt"
	"io"
	"slices"

	"quern/kernels/quant"
)

// A CacheSpec sizes a paged key/value cache.
type CacheSpec struct {
	Layers    []CacheLayer
	Blocks    int        // in the pool, for layers whose rows see everything
	Near      []Near     // of layers with a sliding window: those of one window share blocks
	BlockSize int        // tokens per block
	Type      quant.Type // F32, F16, Q8_0 or Q4_0

	State  int // float32s of the states of one sequence, see Limits.State
	States int // slots for them
}

// A CacheLayer is the keys and values that a layer keeps of a token.
type CacheLayer struct {
	KVHeads, HeadDim int // 0 in layers that nothing is written to
	// Latent, where it is not 0, says that a value is the first so many numbers of its key,
	// of which there is one, and is not kept beside it.
	Latent int

	// Near is the pool of its blocks: 0 that of Batch.Tables, i that of CacheSpec.Near[i-1].
	Near int
}

// Near is a pool of blocks for layers with a sliding window.
type Near struct {
	Reach
	Blocks int
}

// A Reach is how far back a row sees: the last Window tokens, itself included, or those of
// its run of Chunk positions; everything where both are 0.
type Reach struct{ Window, Chunk int }

// First is the first position that a row at position pos sees.
func (r Reach) First(pos int) int {
	switch {
	case r.Window > 0:
		return max(0, pos+1-r.Window)
	case r.Chunk > 0:
		return pos / r.Chunk * r.Chunk
	}
	return 0
}

// Most is how many tokens a row sees at most, 0 for any number.
func (r Reach) Most() int { return max(r.Window, r.Chunk) }

func (r Reach) String() string {
	switch {
	case r.Window > 0:
		return fmt.Sprintf("a window of %d", r.Window)
	case r.Chunk > 0:
		return fmt.Sprintf("chunks of %d", r.Chunk)
	}
	return "everything"
}

// A Cache holds keys and values in blocks of BlockSize tokens. A block number in a table of
// a Batch names the same block in every layer of that table.
type Cache interface {
	// Copy copies block src to block dst in all layers of a pool: 0 is that of Batch.Tables,
	// i that of CacheSpec.Near[i-1].
	Copy(near int, dst, src int32)
	// CopyState copies all states of slot src to slot dst.
	CopyState(dst, src int32)
	// Bytes is the memory the cache occupies.
	Bytes() int64
	io.Closer
}

// A Portable is a Cache whose blocks and states can be copied out and back. The bytes that Read
// copies are for Write of a cache with the same CacheSpec, but for its numbers of blocks and
// slots, and the same Numerics. Like Copy, nothing here may be called during a Run.
type Portable interface {
	Cache
	// Numerics names the arithmetic, and the order in memory, that the bits of keys, values and
	// states depend on beside the Program and its weights.
	Numerics() string
	// Read copies block b of a pool to dst, which is CacheSpec.BlockBytes of that pool long.
	Read(dst []byte, near int, b int32) error
	// Write copies src, as Read has copied it, to block b.
	Write(near int, b int32, src []byte) error
	// ReadState copies the states of a slot to dst, CacheSpec.StateBytes long.
	ReadState(dst []byte, slot int32) error
	// WriteState copies src to the states of a slot.
	WriteState(slot int32, src []byte) error
}

// Alike are n layers of one shape without a window.
func Alike(n, kvHeads, headDim int) []CacheLayer {
	return slices.Repeat([]CacheLayer{{KVHeads: kvHeads, HeadDim: headDim}}, n)
}

// CacheSpec sizes the cache that p needs, with all its layers in blocks of one pool, and
// slots for the states of so many sequences.
func (p *Program) CacheSpec(blocks, blockSize, sequences int, t quant.Type) CacheSpec {
	l := p.Limits()
	s := CacheSpec{Blocks: blocks, BlockSize: blockSize, Type: t, State: l.State, States: sequences}
	for _, u := range l.uses {
		s.Layers = append(s.Layers, u.CacheLayer)
	}
	return s
}

// Apart moves the layers of s whose rows see less than a sequence of so many tokens to pools of
// their own, which have no blocks yet.
func (s *CacheSpec) Apart(p *Program, tokens int) {
	for i, u := range p.Limits().uses {
		if u.Most() == 0 || u.Most() >= tokens {
			continue
		}
		at := slices.IndexFunc(s.Near, func(n Near) bool { return n.Reach == u.Reach })
		if at < 0 {
			at, s.Near = len(s.Near), append(s.Near, Near{Reach: u.Reach})
		}
		s.Layers[i].Near = at + 1
	}
}

// In is how many blocks the pool has that layer l lies in.
func (s *CacheSpec) In(l int) int {
	if near := s.Layers[l].Near; near > 0 {
		return s.Near[near-1].Blocks
	}
	return s.Blocks
}

// LayerBytes is the bytes of a block in layer l; it is 0, false where the type does not fit
// its heads.
func (s *CacheSpec) LayerBytes(l int) (int64, bool) {
	layer := s.Layers[l]
	row, ok := s.Type.Size(layer.HeadDim)
	bytes := int64(row) * int64(layer.KVHeads) * int64(s.BlockSize)
	if layer.Latent > 0 {
		_, whole := s.Type.Size(layer.Latent)
		return bytes, ok && whole
	}
	return 2 * bytes, ok
}

// BlockBytes is the bytes of a block of a pool in all its layers, pools numbered as in
// CacheLayer.Near.
func (s *CacheSpec) BlockBytes(near int) (n int64) {
	for l := range s.Layers {
		if s.Layers[l].Near == near {
			bytes, _ := s.LayerBytes(l)
			n += bytes
		}
	}
	return n
}

// StateBytes is the bytes of one sequence's states.
func (s *CacheSpec) StateBytes() int64 { return 4 * int64(s.State) }

// Bytes is the memory of keys, values and states.
func (s *CacheSpec) Bytes() int64 {
	n := s.BlockBytes(0)*int64(s.Blocks) + s.StateBytes()*int64(s.States)
	for i, near := range s.Near {
		n += s.BlockBytes(i+1) * int64(near.Blocks)
	}
	return n
}

// Check refuses sizes that no cache has.
func (s *CacheSpec) Check() error {
	if s.Blocks <= 0 || s.BlockSize <= 0 {
		return fmt.Errorf("graph: a cache of %d blocks of %d tokens", s.Blocks, s.BlockSize)
	}
	for i, n := range s.Near {
		if n.Blocks <= 0 || n.Most() <= 0 {
			return fmt.Errorf("graph: pool %d of a cache has %d blocks and sees %v", i+1, n.Blocks, n.Reach)
		}
	}
	for i, l := range s.Layers {
		if l.KVHeads < 0 || l.KVHeads > 0 && l.HeadDim <= 0 || l.Latent < 0 || l.Latent > 0 && (l.KVHeads != 1 || l.Latent >= l.HeadDim) || l.Near < 0 || l.Near > len(s.Near) {
			return fmt.Errorf("graph: layer %d of a cache has %d heads of %d with values of %d in pool %d of %d", i, l.KVHeads, l.HeadDim, l.Latent, l.Near, len(s.Near))
		}
		if _, ok := s.LayerBytes(i); !ok {
			return fmt.Errorf("heads of %d do not fit blocks of %v", l.HeadDim, s.Type)
		}
	}
	return nil
}
