package tensor

import (
	"encoding/binary"
	"math"
	"unsafe"

	"quern/formats/onnx"
	"quern/kernels/quant"
)

// littleEndian reports whether numbers of files can be used where they lie.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// alias returns b as numbers, nil where they are not aligned.
func alias[T float32 | float64 | int64](b []byte) []T {
	var zero T
	p := unsafe.Pointer(unsafe.SliceData(b))
	if size := unsafe.Sizeof(zero); littleEndian && uintptr(p)%size == 0 && len(b) > 0 {
		return unsafe.Slice((*T)(p), len(b)/int(size))
	}
	return nil
}

// FromFile returns the tensor with the elements of a constant. It aliases
// f.Data where the types agree: float, double and int64 where they are aligned,
// and integers of 8 bits and less, which stay in Raw.
func FromFile(f *onnx.Tensor) (t *Tensor, err error) {
	defer Rescue(&err)
	return Of(f), nil
}

// Of is FromFile that fails, for operators.
func Of(f *onnx.Tensor) *Tensor {
	n, bits := Count(f.Shape), f.Type.Bits()
	if f.Type == onnx.String && n != len(f.Strings) || f.Type != onnx.String && (bits == 0 || len(f.Data) != (n*bits+7)/8) {
		Malformed("tensor %.100q, %v of shape %d, has %d bytes", f.Name, f.Type, f.Shape, len(f.Data))
	}
	t := &Tensor{Type: f.Type, Shape: append([]int{}, f.Shape...)}
	switch d := f.Data; {
	case f.Type == onnx.String:
		t.S = append([]string{}, f.Strings...)
	case bits <= 8 && !IsFloat(f.Type):
		t.Raw = d[:len(d):len(d)]
		if t.Raw == nil {
			t.Raw = []byte{}
		}
	case f.Type == onnx.Float:
		if t.F = alias[float32](d); t.F == nil {
			t.F = make([]float32, n)
			for i := range t.F {
				t.F[i] = math.Float32frombits(binary.LittleEndian.Uint32(d[4*i:]))
			}
		}
	case f.Type == onnx.Double:
		if t.D = alias[float64](d); t.D == nil {
			t.D = make([]float64, n)
			for i := range t.D {
				t.D[i] = math.Float64frombits(binary.LittleEndian.Uint64(d[8*i:]))
			}
		}
	case IsFloat(f.Type):
		t.F = make([]float32, n)
		decodeAll(t.F, f.Type, d, bits)
	default:
		if bits == 64 {
			t.I = alias[int64](d)
		}
		if t.I == nil {
			t.I = make([]int64, n)
			for i := range t.I {
				t.I[i] = Wrap(f.Type, int64(word(d, bits, i)))
			}
		}
	}
	return t
}

// word returns the bits of element i.
func word(d []byte, bits, i int) uint64 {
	switch bits {
	case 64:
		return binary.LittleEndian.Uint64(d[8*i:])
	case 32:
		return uint64(binary.LittleEndian.Uint32(d[4*i:]))
	case 16:
		return uint64(binary.LittleEndian.Uint16(d[2*i:]))
	case 8:
		return uint64(d[i])
	}
	return uint64(d[i*bits/8]>>(i*bits%8)) & (1<<bits - 1)
}

// decodeAll decodes narrow floats, those of 16 bits by arithmetic on their bits.
func decodeAll(dst []float32, t onnx.DType, d []byte, bits int) {
	switch t {
	case onnx.BFloat16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(d[2*i:])) << 16)
		}
	case onnx.Float16:
		for i := range dst {
			dst[i] = quant.F16ToF32(binary.LittleEndian.Uint16(d[2*i:]))
		}
	default:
		var table [256]float32
		for i := range 1 << bits {
			table[i] = decode(t, uint16(i))
		}
		for i := range dst {
			dst[i] = table[word(d, bits, i)]
		}
	}
}

// small returns element i of Raw.
func (t *Tensor) small(i int) int64 {
	return Wrap(t.Type, int64(word(t.Raw, t.Type.Bits(), i)))
}

// keepWhole is the size up to which a constant keeps both forms.
const keepWhole = 1 << 16

// Whole returns t with I set where it only has Raw, with F where it has halves.
func (t *Tensor) Whole() *Tensor {
	if t.AreHalves() {
		t.Widen()
	}
	if t.Raw == nil || t.I != nil {
		return t
	}
	w := t.another(t.Type, t.Shape...)
	switch t.Type {
	case onnx.Int8:
		for i, b := range t.Raw {
			w.I[i] = int64(int8(b))
		}
	case onnx.Uint8:
		for i, b := range t.Raw {
			w.I[i] = int64(b)
		}
	default:
		for i := range w.I {
			w.I[i] = t.small(i)
		}
	}
	if t.constant && len(w.I) <= keepWhole {
		t.I = append([]int64{}, w.I...)
		return t
	}
	return w
}

// ToFile returns t as a constant: the inverse of FromFile.
func (t *Tensor) ToFile(name string) *onnx.Tensor {
	f := &onnx.Tensor{Name: name, Type: t.Type, Shape: append([]int{}, t.Shape...)}
	bits := t.Type.Bits()
	switch {
	case t.S != nil:
		f.Strings = append([]string{}, t.S...)
		return f
	case t.Raw != nil:
		f.Data = append([]byte{}, t.Raw...)
		return f
	}
	f.Data = make([]byte, (t.Len()*bits+7)/8)
	for i := range t.Len() {
		var v uint64
		switch {
		case t.Type == onnx.Float:
			v = uint64(math.Float32bits(t.F[i]))
		case t.F != nil:
			v = uint64(encode(t.Type, t.F[i]))
		case t.D != nil:
			v = math.Float64bits(t.D[i])
		default:
			v = uint64(t.I[i])
		}
		switch d := f.Data; bits {
		case 64:
			binary.LittleEndian.PutUint64(d[8*i:], v)
		case 32:
			binary.LittleEndian.PutUint32(d[4*i:], uint32(v))
		case 16:
			binary.LittleEndian.PutUint16(d[2*i:], uint16(v))
		default:
			d[i*bits/8] |= byte(v&(1<<bits-1)) << (i * bits % 8)
		}
	}
	return f
}
