// Package pcm converts between float32 samples and the bytes of uncompressed
// audio, G.711 included.
package pcm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Format names how one sample is stored.
type Format uint8

const (
	None Format = iota
	U8          // offset by 128
	S8
	S16
	S24
	S32
	F32
	F64
	ALaw  // ITU-T G.711
	MuLaw // ITU-T G.711
)

var formats = [...]struct {
	name string
	size int
}{
	None:  {"none", 0},
	U8:    {"u8", 1},
	S8:    {"s8", 1},
	S16:   {"s16", 2},
	S24:   {"s24", 3},
	S32:   {"s32", 4},
	F32:   {"f32", 4},
	F64:   {"f64", 8},
	ALaw:  {"alaw", 1},
	MuLaw: {"mulaw", 1},
}

// Size returns the number of bytes of a sample.
func (f Format) Size() int { return formats[f].size }

func (f Format) String() string { return formats[f].name }

// Decode appends the samples in src, a whole number of them, to dst. Full scale
// is 1; what a float format stores beyond that is kept, except that infinities
// and NaNs become 0.
func Decode(dst []float32, src []byte, f Format, order binary.ByteOrder) []float32 {
	size := f.Size()
	if size == 0 || len(src)%size != 0 {
		panic(fmt.Sprintf("pcm: Decode of %d bytes as %s", len(src), f))
	}
	for ; len(src) > 0; src = src[size:] {
		var v float32
		switch f {
		case U8:
			v = float32(int(src[0])-128) / (1 << 7)
		case S8:
			v = float32(int8(src[0])) / (1 << 7)
		case S16:
			v = float32(int16(order.Uint16(src))) / (1 << 15)
		case S24:
			if order == binary.ByteOrder(binary.BigEndian) {
				v = s24(src[2], src[1], src[0])
			} else {
				v = s24(src[0], src[1], src[2])
			}
		case S32:
			v = float32(int32(order.Uint32(src))) / (1 << 31)
		case F32:
			v = finite(math.Float32frombits(order.Uint32(src)))
		case F64:
			v = finite(float32(math.Float64frombits(order.Uint64(src))))
		case ALaw:
			v = float32(alaw[src[0]]) / (1 << 15)
		case MuLaw:
			v = float32(mulaw[src[0]]) / (1 << 15)
		}
		dst = append(dst, v)
	}
	return dst
}

func s24(low, middle, high byte) float32 {
	return float32(int32(uint32(low)<<8|uint32(middle)<<16|uint32(high)<<24)>>8) / (1 << 23)
}

func finite(v float32) float32 {
	if v-v != 0 {
		return 0
	}
	return v
}

// ErrSample is wrapped by every encoder's error for a sample that is NaN or
// infinite. What makes such samples is broken: nothing it makes is worth keeping.
var ErrSample = errors.New("audio sample is no finite number")

// Check returns an error that wraps ErrSample when a sample of x is not finite.
func Check(x []float32) error {
	for i, v := range x {
		if v-v != 0 {
			return fmt.Errorf("%w: sample %d is %v", ErrSample, i, v)
		}
	}
	return nil
}

// Encode appends the bytes of x to dst, little endian. Values beyond full scale
// are clipped in every format but the floats; NaN becomes silence.
func Encode(dst []byte, x []float32, f Format) []byte {
	for _, v := range x {
		switch f {
		case U8:
			dst = append(dst, byte(Quantize(v, 8)+128))
		case S8:
			dst = append(dst, byte(Quantize(v, 8)))
		case S16:
			dst = binary.LittleEndian.AppendUint16(dst, uint16(Quantize(v, 16)))
		case S24:
			q := Quantize(v, 24)
			dst = append(dst, byte(q), byte(q>>8), byte(q>>16))
		case S32:
			dst = binary.LittleEndian.AppendUint32(dst, uint32(Quantize(v, 32)))
		case F32:
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		case F64:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(v)))
		case ALaw:
			dst = append(dst, encodeALaw(Quantize(v, 16)))
		case MuLaw:
			dst = append(dst, encodeMuLaw(Quantize(v, 16)))
		default:
			panic(fmt.Sprintf("pcm: Encode as %s", f))
		}
	}
	return dst
}

// Quantize rounds v, full scale 1, to an integer of so many bits, half away
// from zero, and clips. NaN is 0.
func Quantize(v float32, bits int) int32 {
	scale := float64(int64(1) << (bits - 1))
	y := math.Round(float64(v) * scale)
	switch {
	case y >= scale:
		return int32(scale - 1)
	case y < -scale:
		return int32(-scale)
	case y != y:
		return 0
	}
	return int32(y)
}
