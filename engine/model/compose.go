package model

import (
	"encoding/binary"
	"math"
	"slices"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// Tensors made of others: what they hold is put together when it is read.

// rearrange has w made of t's bytes by f.
func rearrange(w, t *weights.Tensor, f func(dst, data []byte)) {
	w.Later(func(dst []byte) error {
		data, err := t.Read()
		if err == nil {
			f(dst, data)
		}
		return err
	})
}

// compute has w made of t's numbers: f returns its own. x is f's to change.
func compute(w, t *weights.Tensor, f func(x []float32) []float32) {
	w.Later(func(dst []byte) error {
		x, err := t.Floats()
		if err == nil {
			w.Type.Layout().Encode(dst, f(x))
		}
		return err
	})
}

// rowsOf is n rows of t from row from on.
func rowsOf(name string, t *weights.Tensor, from, n int) *weights.Tensor {
	w := &weights.Tensor{Name: name, Type: t.Type, Shape: slices.Concat([]int{n}, t.Shape[1:])}
	row := t.Size() / max(1, t.Shape[0])
	rearrange(w, t, func(dst, data []byte) { copy(dst, data[from*row:(from+n)*row]) })
	return w
}

// transposed is columns from to to-1 of each matrix (in, out) of t as its rows: (to-from, in).
func transposed(name string, t *weights.Tensor, from, to int) *weights.Tensor {
	last := len(t.Shape) - 1
	in, out, n := t.Shape[last-1], t.Shape[last], to-from
	w := &weights.Tensor{Name: name, Type: t.Type, Shape: slices.Concat(t.Shape[:last-1], []int{n, in})}
	size := t.Size() / max(1, t.Elems()) // bytes of a number: there are no blocks in these files
	rearrange(w, t, func(dst, data []byte) {
		parallel(w.Elems()/max(1, in), func(first, end int) {
			for r := first; r < end; r++ {
				matrix, col := r/n, from+r%n
				for i := range in {
					copy(dst[(r*in+i)*size:][:size], data[((matrix*in+i)*out+col)*size:])
				}
			}
		})
	})
	return w
}

// join is the tensor of the parts one after another.
func join(name string, typ quant.Type, shape []int, parts []*weights.Tensor) *weights.Tensor {
	t := &weights.Tensor{Name: name, Type: typ, Shape: shape}
	t.Later(func(dst []byte) error {
		for _, p := range parts {
			n := p.Size()
			if err := p.ReadTo(dst[:n:n]); err != nil {
				return err
			}
			dst = dst[n:]
		}
		return nil
	})
	return t
}

// alias is t under another name.
func alias(name string, t *weights.Tensor) *weights.Tensor {
	to := &weights.Tensor{Name: name, Type: t.Type, Shape: t.Shape, Data: t.Data}
	if t.Data == nil {
		to.Later(t.ReadTo)
	}
	return to
}

// floats is a tensor made here.
func floats(name string, x []float32) *weights.Tensor {
	t := &weights.Tensor{Name: name, Type: quant.F32, Shape: []int{len(x)}, Data: make([]byte, 4*len(x))}
	for i, v := range x {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(v))
	}
	return t
}

// gather is the rows of t, or its columns, in the given order.
func gather(t *weights.Tensor, columns bool, order []int) *weights.Tensor {
	w := &weights.Tensor{Name: t.Name, Type: t.Type, Shape: slices.Clone(t.Shape)}
	runs, parts, axis := 1, t.Shape[0], 0
	if columns {
		runs, parts, axis = t.Shape[0], t.Shape[1], 1
	}
	w.Shape[axis] = len(order)
	from := *t
	rearrange(w, &from, func(dst, data []byte) {
		size := len(data) / runs / parts
		for r := range runs {
			run := data[r*parts*size : (r+1)*parts*size]
			for _, i := range order {
				dst = dst[copy(dst, run[i*size:(i+1)*size]):]
			}
		}
	})
	return w
}

// multiplied is t as F32, each row multiplied by a number.
func multiplied(t *weights.Tensor, by func(row int) float64) *weights.Tensor {
	w := floats(t.Name, nil)
	w.Shape, w.Data = t.Shape, nil
	from := *t
	compute(w, &from, func(x []float32) []float32 {
		width := len(x) / max(1, t.Shape[0])
		for i := range x {
			x[i] = float32(float64(x[i]) * by(i/width))
		}
		return x
	})
	return w
}
