// Package quant knows every number type weights are stored in: how a block is
// laid out, how it decodes to float32, and the reference dot product that fast
// kernels are held against.
//
// One file per type; the table below is the only list of them. Layouts follow
// the GGML block formats that GGUF files carry.
package quant

import "fmt"

// A Type is a number type. The zero Type is invalid.
type Type uint8

// The number types. X32 and X256 are not stored in files: they are the forms
// activations are quantised to before a dot product (see act.go). F8_E4M3 is a
// type of KV caches and has no Dot.
const (
	Invalid Type = iota
	F32
	F16
	BF16
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	Q8_K
	IQ4_NL
	IQ4_XS
	MXFP4
	X32
	X256
	F8_E4M3
	count
)

// A Layout says how a Type packs numbers and supplies its reference code.
type Layout struct {
	Name  string // GGUF's spelling: "Q4_K"
	GGML  uint32 // type number in GGUF files; NoGGML for activation types
	Block int    // weights per block
	Bytes int    // bytes per block
	With  Type   // the Type activations take for Dot; Invalid for those types

	// Decode writes len(dst) weights; len(dst) is a multiple of Block and src
	// holds exactly the blocks for them. Every value is the one GGML decodes,
	// bit for bit, on every machine.
	Decode func(dst []float32, src []byte)
	// Encode is the inverse, nil where we only read. src must be finite. It
	// writes the same bytes on every machine; magnitudes beyond what an F16
	// scale reaches saturate.
	Encode func(dst []byte, src []float32)
	// Dot returns the inner product of n weights w and n activations x, x being
	// the ActBytes(With, n) bytes of type With; nil for activation types. It is
	// the reference: plain Go, the same bits on every machine. The sum over a
	// block is exact in integers and becomes one float32 term; terms are added
	// in float32 in the order of the blocks, nothing fused. F32, F16 and BF16
	// keep four sums, element i going to sum i mod 4, and add them in pairs.
	Dot func(n int, w, x []byte) float32
}

// NoGGML marks a type that has no number in GGUF files.
const NoGGML = ^uint32(0)

// Layout returns the layout of t. It panics on an invalid type, which no
// reader lets through.
func (t Type) Layout() *Layout {
	if t == Invalid || t >= count {
		panic(fmt.Sprintf("quant: no layout for Type(%d)", uint8(t)))
	}
	return &layouts[t]
}

func (t Type) String() string {
	if t == Invalid || t >= count {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return layouts[t].Name
}

// Size returns the bytes n weights take. ok is false when n is negative, not a
// whole number of blocks, or so large that the size would overflow.
func (t Type) Size(n int) (bytes int, ok bool) {
	l := t.Layout()
	if n < 0 || n%l.Block != 0 {
		return 0, false
	}
	blocks := n / l.Block
	const maxInt = int(^uint(0) >> 1)
	if blocks > maxInt/l.Bytes {
		return 0, false
	}
	return blocks * l.Bytes, true
}
