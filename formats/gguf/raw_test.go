package gguf_test

import (
	"encoding/binary"
	"math"
	"testing"

	"quern/kernels/quant"
)

// raw builds files by hand, right and wrong ones, without the package's help.
type raw []byte

func (r raw) u8(v uint8) raw     { return append(r, v) }
func (r raw) u32(v uint32) raw   { return binary.LittleEndian.AppendUint32(r, v) }
func (r raw) u64(v uint64) raw   { return binary.LittleEndian.AppendUint64(r, v) }
func (r raw) f32(v float32) raw  { return r.u32(math.Float32bits(v)) }
func (r raw) str(s string) raw   { return append(r.u64(uint64(len(s))), s...) }
func (r raw) bytes(n int) raw    { return append(r, make([]byte, n)...) }
func (r raw) pad(align int) raw  { return r.bytes((align - len(r)%align) % align) }
func (r raw) then(b ...byte) raw { return append(r, b...) }

// head begins a version 3 file.
func head(tensors, pairs uint64) raw {
	return raw("GGUF").u32(3).u64(tensors).u64(pairs)
}

// The type numbers of the specification.
const (
	tU8 = iota
	tI8
	tU16
	tI16
	tU32
	tI32
	tF32
	tBool
	tString
	tArray
	tU64
	tI64
	tF64
)

// ggml's numbers of some tensor types.
const (
	gF32     = 0
	gF16     = 1
	gQ8_0    = 8
	gQ4_K    = 12
	gIQ2_XXS = 16
)

// tensor appends an entry of the tensor table.
func (r raw) tensor(name string, typ uint32, off uint64, dims ...uint64) raw {
	r = r.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		r = r.u64(d)
	}
	return r.u32(typ).u64(off)
}

// sizeOf returns the bytes of n weights.
func sizeOf(t testing.TB, typ quant.Type, n int) int {
	size, ok := typ.Size(n)
	if !ok {
		t.Fatalf("%s: no size for %d weights", typ, n)
	}
	return size
}
