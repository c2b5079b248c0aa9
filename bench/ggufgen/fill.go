package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"quern/formats/gguf"
	"quern/kernels/quant"
)

// A filler turns random bytes into blocks of one type whose weights have mean
// zero and a given standard deviation. Quantising real numbers would give the
// same and take minutes. Blocks that hold no offset represent one number more
// below zero than above; giving half of them a negative scale evens that out.
type filler struct {
	scales    [256]uint16     // F16 block scales, drawn by a byte
	mins      [256]uint16     // F16 of what goes with it in types that have offsets
	exponents [256]byte       // MXFP4's scales
	packed    [256][12]byte   // Q4_K's scales and mins
	normal    [1 << 16]uint16 // F16 samples of a normal distribution
}

// blockFillers says for each type how to overwrite the random bytes of b, some
// whole blocks, where uniform ones will not do.
var blockFillers = map[quant.Type]struct {
	spread float64 // standard deviation of a weight in units of the block scale
	mean   float64 // of the weights without their offset, in that unit; 0 in types without offsets
	fill   func(f *filler, b []byte)
}{
	quant.F16:    {1, 0, fillF16},
	quant.Q4_0:   {uniform(16), 0, func(f *filler, b []byte) { fillScale(f, b, 18, 0) }},
	quant.Q4_1:   {uniform(16), -7.5, func(f *filler, b []byte) { fillOffset(f, b, 20, 0) }},
	quant.Q5_0:   {uniform(32), 0, func(f *filler, b []byte) { fillScale(f, b, 22, 0) }},
	quant.Q5_1:   {uniform(32), -15.5, func(f *filler, b []byte) { fillOffset(f, b, 24, 0) }},
	quant.Q8_0:   {uniform(256), 0, func(f *filler, b []byte) { fillScale(f, b, 34, 0) }},
	quant.Q2_K:   {uniform(4) * rms(8, 15), 1.5, fillQ2_K},
	quant.Q3_K:   {rms(-4, 3) * rms(-32, 31), 0, func(f *filler, b []byte) { fillScale(f, b, 110, 108) }},
	quant.Q4_K:   {uniform(16) * rms(32, 63), 7.5, func(f *filler, b []byte) { fillPacked(f, b, 144) }},
	quant.Q5_K:   {uniform(32) * rms(32, 63), 15.5, func(f *filler, b []byte) { fillPacked(f, b, 176) }},
	quant.Q6_K:   {uniform(64) * rms(64, 127), 0, fillQ6_K},
	quant.IQ4_NL: {iq4Spread, 0, func(f *filler, b []byte) { fillScale(f, b, 18, 0) }},
	quant.IQ4_XS: {iq4Spread * rms(-32, 31), 0, func(f *filler, b []byte) { fillScale(f, b, 136, 0) }},
	quant.MXFP4:  {mxfp4Spread, 0, fillMXFP4},
}

// iq4Spread and mxfp4Spread are the root mean squares of the sixteen values of IQ4_NL and MXFP4;
// see their layouts in kernels/quant.
const (
	iq4Spread   = 67.44
	mxfp4Spread = 5.85
)

// uniform returns the standard deviation of n equally likely integers.
func uniform(n float64) float64 { return math.Sqrt((n*n - 1) / 12) }

// rms returns the root mean square of the integers lo…hi.
func rms(lo, hi float64) float64 { return math.Hypot((lo+hi)/2, uniform(hi-lo+1)) }

func newFiller(t quant.Type, std float64) *filler {
	f, how := new(filler), blockFillers[t]
	unit := std / how.spread
	for i := range f.scales {
		// From 0.5 to 1.5 units, and of root mean square one.
		d := unit * (0.5 + float64(i)/255) / math.Sqrt(13.0/12)
		f.mins[i] = quant.F32ToF16(float32(how.mean * d))
		if how.mean == 0 && i%2 == 1 {
			d = -d
		}
		f.scales[i] = quant.F32ToF16(float32(d))
	}
	// Of two neighbouring powers of two so many of each that their mean square is right.
	low := math.Floor(math.Log2(unit))
	more := (math.Pow(unit/math.Exp2(low), 2) - 1) / 3
	for i := range f.exponents {
		f.exponents[i] = byte(128 + low)
		if float64(i) < more*float64(len(f.exponents)) {
			f.exponents[i]++
		}
	}
	r := rand.New(rand.NewPCG(1, 1)) // the tables are the same for every seed
	for i := range f.packed {
		f.packed[i] = packScales(r)
	}
	if t == quant.F16 {
		for i := range f.normal {
			p := (float64(i) + 0.5) / float64(len(f.normal))
			f.normal[i] = quant.F32ToF16(float32(std * math.Sqrt2 * math.Erfinv(2*p-1)))
		}
	}
	return f
}

// packScales draws eight six-bit scales from 32…63 and packs them twice, as
// scales and as mins. With equal ones the mean of a sub-block is zero when the
// mins count 7.5 times as much. See the layout in quant/q4_k.go.
func packScales(r *rand.Rand) (p [12]byte) {
	for j := range 4 {
		lo, hi := 32+byte(r.IntN(32)), 32+byte(r.IntN(32))
		p[j] = lo | hi>>4<<6
		p[4+j] = p[j]
		p[8+j] = hi&15 | hi<<4
	}
	return p
}

// fillScale replaces the F16 at offset at of every block.
func fillScale(f *filler, b []byte, size, at int) {
	for ; len(b) >= size; b = b[size:] {
		binary.LittleEndian.PutUint16(b[at:], f.scales[b[at]])
	}
}

func fillF16(f *filler, b []byte) {
	for ; len(b) >= 2; b = b[2:] {
		binary.LittleEndian.PutUint16(b, f.normal[binary.LittleEndian.Uint16(b)])
	}
}

// fillOffset replaces the F16 at offset at of every block, and what belongs to it behind.
func fillOffset(f *filler, b []byte, size, at int) {
	for ; len(b) >= size; b = b[size:] {
		i := b[at]
		binary.LittleEndian.PutUint16(b[at:], f.scales[i])
		binary.LittleEndian.PutUint16(b[at+2:], f.mins[i])
	}
}

// fillPacked fills Q4_K and Q5_K.
func fillPacked(f *filler, b []byte, size int) {
	for at := 0; at < len(b); at += size {
		copy(b[at+4:at+16], f.packed[b[at+4]][:])
	}
	fillOffset(f, b, size, 0)
}

func fillQ2_K(f *filler, b []byte) {
	const size = 84
	for at := 0; at < len(b); at += size {
		for i, c := range b[at : at+16] { // scales of 8…15, and mins like them
			b[at+i] = (8 | c&7) * 0x11
		}
	}
	fillOffset(f, b, size, 80)
}

func fillMXFP4(f *filler, b []byte) {
	const size = 17
	for ; len(b) >= size; b = b[size:] {
		b[0] = f.exponents[b[0]]
	}
}

func fillQ6_K(f *filler, b []byte) {
	const size = 210
	for ; len(b) >= size; b = b[size:] {
		for i, c := range b[192:208] {
			// Signed scales of 64…127, so that their mean is zero.
			s := int8(64 | c&63)
			if c&64 != 0 {
				s = -s
			}
			b[192+i] = byte(s)
		}
		fillScale(f, b[:size], size, 208)
	}
}

// stream returns a matrix of random weights, or a stack of them.
func stream(name string, t quant.Type, shape []int, std float64, seed uint64) gguf.Stream {
	return gguf.Stream{Name: name, Type: t, Shape: shape, Data: func(w io.Writer) error {
		n := 1
		for _, d := range shape {
			n *= d
		}
		left, ok := t.Size(n)
		if !ok {
			return fmt.Errorf("shape %v does not fit %s", shape, t)
		}
		f := newFiller(t, std)
		r := random(name, seed)
		size := t.Layout().Bytes
		buf := make([]byte, (1<<18)/size*size)
		for left > 0 {
			b := buf[:min(left, len(buf))]
			r.Read(b) // always fills b and returns no error
			blockFillers[t].fill(f, b)
			if _, err := w.Write(b); err != nil {
				return err
			}
			left -= len(b)
		}
		return nil
	}}
}

// norm returns the weights of a norm: about one.
func norm(name string, n int, seed uint64) func(io.Writer) error {
	return floats(draw(name, n, 1, 0.1, seed))
}

// draw returns n normally distributed numbers.
func draw(name string, n int, mean, std float64, seed uint64) []float32 {
	r := rand.New(random(name, seed))
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(mean + std*r.NormFloat64())
	}
	return f
}

func floats(f []float32) func(io.Writer) error {
	return func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, f) }
}

// random returns the generator of one tensor.
func random(name string, seed uint64) *rand.ChaCha8 {
	return rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, name)))
}
