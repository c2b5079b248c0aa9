// Package quant has every number type weights are stored in: how a block is
// laid out, how it decodes to float32, and the reference dot product that fast
// kernels are held against.
//
// There is one file per type; layouts.go has the only list of them. Layouts follow the
// GGML block formats of GGUF files.
package quant

import "fmt"

// A Type is a number type. The zero Type is invalid.
type Type uint8

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

	// Mixtures are the names of files most of whose weights have this type.
	Mixtures []Mixture
}

// A Mixture is a name for files of weights: it says the type of most weights and how many
// of the others have more bits.
type Mixture struct {
	Name     string // "Q4_K_M"
	FileType int    // general.file_type of GGUF files; NoFileType where that has no number
	Choice   int    // its rank when a repository's file is chosen by default, from 1; 0: never by default
	Made     bool   // weights can be quantised to it
}

// NoFileType marks a mixture that general.file_type has no number for.
const NoFileType = -1

// NoGGML marks a type that has no number in GGUF files.
const NoGGML = ^uint32(0)

// Layout returns the layout of t. It panics on an invalid type, which no
// reader lets through.
func (t Type) Layout() *Layout {
	if t == Invalid || t >= Count {
		panic(fmt.Sprintf("quant: no layout for Type(%d)", uint8(t)))
	}
	return &layouts[t]
}

func (t Type) String() string {
	if t == Invalid || t >= Count {
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
