package wav

import (
	"encoding/binary"
	"fmt"
)

// blockDecoder decodes samples that are stored in blocks.
type blockDecoder interface {
	// frames returns how many frames a block of n bytes holds.
	frames(n int) int
	// decode appends the samples of one block, interleaved, to dst.
	decode(dst []float32, block []byte) []float32
}

// ima decodes IMA ADPCM as WAV files hold it: per channel a header of four
// bytes with the first sample and the index of the step, then words of eight
// nibbles per channel in turn.
//
// IMA, "Recommended Practices for Enhancing Digital Audio Compatibility", 1992.
type ima struct{ channels int }

var imaSteps = [89]int32{
	7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45,
	50, 55, 60, 66, 73, 80, 88, 97, 107, 118, 130, 143, 157, 173, 190, 209, 230,
	253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963,
	1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327,
	3660, 4026, 4428, 4871, 5358, 5894, 6484, 7132, 7845, 8630, 9493, 10442,
	11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794,
	32767,
}

var imaIndex = [8]int{-1, -1, -1, -1, 2, 4, 6, 8}

func (d ima) frames(n int) int { return 1 + (n/(4*d.channels)-1)*8 }

func (d ima) decode(dst []float32, block []byte) []float32 {
	channels := d.channels
	base, frames := len(dst), d.frames(len(block))
	dst = append(dst, make([]float32, frames*channels)...)
	words := block[4*channels:]
	for c := range channels {
		sample := int32(int16(binary.LittleEndian.Uint16(block[4*c:])))
		index := min(int(block[4*c+2]), len(imaSteps)-1)
		out := dst[base+c:]
		out[0] = float32(sample) / (1 << 15)
		for i := range frames - 1 {
			at := (i/8*channels+c)*4 + i%8/2
			nibble := words[at] >> (4 * (i % 2)) & 15
			step := imaSteps[index]
			diff := step >> 3
			if nibble&4 != 0 {
				diff += step
			}
			if nibble&2 != 0 {
				diff += step >> 1
			}
			if nibble&1 != 0 {
				diff += step >> 2
			}
			if nibble&8 != 0 {
				diff = -diff
			}
			sample = clip16(sample + diff)
			index = min(max(index+imaIndex[nibble&7], 0), len(imaSteps)-1)
			out[(i+1)*channels] = float32(sample) / (1 << 15)
		}
	}
	return dst
}

// ms decodes Microsoft ADPCM: a predictor of two samples whose coefficients
// each block chooses from a list in the fmt chunk, and a step that adapts.
//
// Microsoft, "New Multimedia Data Types and Data Techniques", 1994.
type ms struct {
	channels int
	coeffs   [][2]int32
}

var msAdapt = [16]int32{230, 230, 230, 230, 307, 409, 512, 614, 768, 614, 512, 409, 307, 230, 230, 230}

// newMS reads the list of coefficients from a fmt chunk.
func newMS(b []byte, order binary.ByteOrder) (ms, error) {
	const list = 22 // bytes before the first pair
	if len(b) < list {
		return ms{}, fmt.Errorf("%w: MS ADPCM fmt chunk of %d bytes", ErrFormat, len(b))
	}
	n := int(order.Uint16(b[20:]))
	if n == 0 || n > (len(b)-list)/4 {
		return ms{}, fmt.Errorf("%w: MS ADPCM with %d predictors", ErrFormat, n)
	}
	d := ms{channels: int(order.Uint16(b[2:])), coeffs: make([][2]int32, n)}
	for i := range d.coeffs {
		d.coeffs[i][0] = int32(int16(order.Uint16(b[list+4*i:])))
		d.coeffs[i][1] = int32(int16(order.Uint16(b[list+4*i+2:])))
	}
	return d, nil
}

func (d ms) frames(n int) int { return 2 + (n-7*d.channels)*2/d.channels }

func (d ms) decode(dst []float32, block []byte) []float32 {
	channels := d.channels
	var coeff [2][2]int32
	var delta, s1, s2 [2]int32
	at := func(i int) int32 { return int32(int16(binary.LittleEndian.Uint16(block[i:]))) }
	for c := range channels {
		coeff[c] = d.coeffs[min(int(block[c]), len(d.coeffs)-1)]
		delta[c] = at(channels + 2*c)
		s1[c] = at(3*channels + 2*c)
		s2[c] = at(5*channels + 2*c)
	}
	for c := range channels {
		dst = append(dst, float32(s2[c])/(1<<15))
	}
	for c := range channels {
		dst = append(dst, float32(s1[c])/(1<<15))
	}
	nibbles := block[7*channels:]
	for i := range (d.frames(len(block)) - 2) * channels {
		c := i % channels
		nibble := nibbles[i/2] >> (4 * (1 - i%2)) & 15
		signed := int32(nibble^8) - 8
		sample := clip16((s1[c]*coeff[c][0]+s2[c]*coeff[c][1])/256 + signed*delta[c])
		s2[c], s1[c] = s1[c], sample
		delta[c] = min(max(int32(int64(msAdapt[nibble])*int64(delta[c])>>8), 16), 1<<20)
		dst = append(dst, float32(sample)/(1<<15))
	}
	return dst
}

func clip16(v int32) int32 { return min(max(v, -1<<15), 1<<15-1) }
