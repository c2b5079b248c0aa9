package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// A Stream is a tensor to be written. Its data comes when its turn does, so
// that a file may be larger than memory.
type Stream struct {
	Name  string
	Type  quant.Type
	Shape []int // row-major, outermost first
	// Data writes the tensor's bytes, exactly Type.Size of them.
	Data func(w io.Writer) error
}

// StreamOf returns a Stream that writes t as it is.
func StreamOf(t *weights.Tensor) Stream {
	return Stream{t.Name, t.Type, t.Shape, func(w io.Writer) error {
		_, err := w.Write(t.Data)
		return err
	}}
}

// maxTensorName is what llama.cpp's loader allows. Our reader allows more.
const maxTensorName = 63

// Write writes a GGUF version 3 file with the tensors in the given order. It
// buffers its output.
//
// Values of a known weights.Kind are stored as that. The rest get the types
// llama.cpp's loader insists on: uint32 for integers that fit it, else int32
// or int64; float32 for floats; int32 for integer arrays that fit it, else
// int64; the few keys that differ have a table. general.alignment is obeyed.
//
// Errors of w and of the tensors' Data are returned as they are; others say
// what in meta or tensors a GGUF file cannot hold.
func Write(w io.Writer, meta *weights.Meta, tensors []Stream) error {
	align, err := alignment(meta)
	if err != nil {
		return err
	}
	head := []byte(magic)
	head = binary.LittleEndian.AppendUint32(head, 3)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(tensors)))
	head = binary.LittleEndian.AppendUint64(head, uint64(meta.Len()))
	for key, v := range meta.All() {
		if key == "" || len(key) > maxName {
			return fmt.Errorf("gguf: a key of %d bytes", len(key))
		}
		head = appendString(head, key)
		if head, err = appendValue(head, key, v, meta.Kind(key)); err != nil {
			return fmt.Errorf("gguf: metadata %q: %w", key, err)
		}
	}

	sizes := make([]int, len(tensors))
	names := make(map[string]bool, len(tensors))
	off := uint64(0)
	for i, t := range tensors {
		if names[t.Name] {
			return fmt.Errorf("gguf: tensor %q occurs twice", t.Name)
		}
		names[t.Name] = true
		if sizes[i], err = checkStream(t); err != nil {
			return fmt.Errorf("gguf: tensor %q: %w", t.Name, err)
		}
		head = appendString(head, t.Name)
		head = binary.LittleEndian.AppendUint32(head, uint32(len(t.Shape)))
		for d := len(t.Shape) - 1; d >= 0; d-- {
			head = binary.LittleEndian.AppendUint64(head, uint64(t.Shape[d]))
		}
		head = binary.LittleEndian.AppendUint32(head, t.Type.Layout().GGML)
		head = binary.LittleEndian.AppendUint64(head, off)
		if off > math.MaxInt64-uint64(sizes[i])-align {
			return fmt.Errorf("gguf: tensor %q: the file would be too large", t.Name)
		}
		off += (uint64(sizes[i]) + align - 1) / align * align
	}

	b := bufio.NewWriterSize(w, 1<<20)
	zeros := make([]byte, align)
	pad := func(n uint64) error {
		_, err := b.Write(zeros[:(align-n%align)%align])
		return err
	}
	if _, err := b.Write(head); err != nil {
		return err
	}
	if len(tensors) > 0 {
		if err := pad(uint64(len(head))); err != nil {
			return err
		}
	}
	for i, t := range tensors {
		exact := &exactWriter{b, t.Name, sizes[i]}
		if err := t.Data(exact); err != nil {
			return err
		}
		if exact.left != 0 {
			return fmt.Errorf("gguf: tensor %q: %d of %d bytes are missing", t.Name, exact.left, sizes[i])
		}
		if err := pad(uint64(sizes[i])); err != nil {
			return err
		}
	}
	return b.Flush()
}

// checkStream returns the bytes of t, or why a GGUF file cannot hold it.
func checkStream(t Stream) (size int, err error) {
	if t.Name == "" || len(t.Name) > maxTensorName {
		return 0, fmt.Errorf("a name of %d bytes, want 1 to %d", len(t.Name), maxTensorName)
	}
	if len(t.Shape) == 0 || len(t.Shape) > maxRank {
		return 0, fmt.Errorf("%d dimensions, want 1 to %d", len(t.Shape), maxRank)
	}
	l := t.Type.Layout()
	if l.GGML == quant.NoGGML {
		return 0, fmt.Errorf("%s is stored in no file", t.Type)
	}
	elems := 1
	for _, d := range t.Shape {
		if d <= 0 || d > maxInt/elems {
			return 0, fmt.Errorf("shape %v", t.Shape)
		}
		elems *= d
	}
	if row := t.Shape[len(t.Shape)-1]; row%l.Block != 0 {
		return 0, fmt.Errorf("rows of %d, but %s packs %d at a time", row, t.Type, l.Block)
	}
	size, ok := t.Type.Size(elems)
	if !ok {
		return 0, fmt.Errorf("shape %v takes more bytes than can be counted", t.Shape)
	}
	return size, nil
}

// An exactWriter refuses more bytes than a tensor has.
type exactWriter struct {
	w    io.Writer
	name string
	left int
}

func (e *exactWriter) Write(p []byte) (int, error) {
	if len(p) > e.left {
		return 0, fmt.Errorf("gguf: tensor %q: %d bytes too many", e.name, len(p)-e.left)
	}
	n, err := e.w.Write(p)
	e.left -= n
	return n, err
}

// oddKinds lists the keys whose types are not what defaultKind would choose.
var oddKinds = map[string]weights.Kind{
	splitKeys[0]:                          weights.Uint16,
	splitKeys[1]:                          weights.Uint16,
	splitKeys[2]:                          weights.Int32,
	"tokenizer.ggml.precompiled_charsmap": weights.Uint8,
}

// defaultKind chooses how v is stored where nothing says how it was.
func defaultKind(key string, v weights.Value) weights.Kind {
	if k, ok := oddKinds[key]; ok {
		return k
	}
	switch v := v.(type) {
	case bool, []bool:
		return weights.Bool
	case string, []string:
		return weights.String
	case uint64:
		return weights.Uint64
	case int64:
		switch {
		case fits(v, weights.Uint32):
			return weights.Uint32
		case fits(v, weights.Int32):
			return weights.Int32
		}
		return weights.Int64
	case []int64:
		for _, n := range v {
			if !fits(n, weights.Int32) {
				return weights.Int64
			}
		}
		return weights.Int32
	case float64:
		if !fitsFloat32(v) {
			return weights.Float64
		}
		return weights.Float32
	case []float64:
		for _, x := range v {
			if !fitsFloat32(x) {
				return weights.Float64
			}
		}
		return weights.Float32
	}
	return 0
}

// fits reports whether an integer of kind k can be n.
func fits(n int64, k weights.Kind) bool {
	switch k {
	case weights.Uint8:
		return n == int64(uint8(n))
	case weights.Int8:
		return n == int64(int8(n))
	case weights.Uint16:
		return n == int64(uint16(n))
	case weights.Int16:
		return n == int64(int16(n))
	case weights.Uint32:
		return n == int64(uint32(n))
	case weights.Int32:
		return n == int64(int32(n))
	case weights.Uint64:
		return n >= 0
	case weights.Int64:
		return true
	}
	return false
}

// fitsFloat32 reports whether x stays finite as a float32, if it is.
func fitsFloat32(x float64) bool {
	return !math.IsInf(float64(float32(x)), 0) || math.IsInf(x, 0)
}

// appendValue appends the type number of a value and the value.
func appendValue(b []byte, key string, v weights.Value, k weights.Kind) ([]byte, error) {
	switch v.(type) {
	case bool, string, int64, uint64, float64:
		if k == 0 {
			k = defaultKind(key, v)
		}
		t, err := typeNumber(k)
		if err != nil {
			return nil, err
		}
		return appendScalar(binary.LittleEndian.AppendUint32(b, t), v, k)
	}
	return appendArray(binary.LittleEndian.AppendUint32(b, typeArray), key, v, k, 1)
}

// appendArray appends an array without the number that says it is one.
func appendArray(b []byte, key string, v weights.Value, k weights.Kind, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("arrays nested more than %d deep", maxDepth)
	}
	if a, ok := v.([]weights.Value); ok {
		b = binary.LittleEndian.AppendUint32(b, typeArray)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(a)))
		for _, v := range a {
			var err error
			if b, err = appendArray(b, key, v, k, depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	if k == 0 {
		k = defaultKind(key, v)
	}
	switch a := v.(type) {
	case []bool:
		return appendElems(b, a, k)
	case []string:
		return appendElems(b, a, k)
	case []int64:
		return appendElems(b, a, k)
	case []float64:
		return appendElems(b, a, k)
	}
	return nil, fmt.Errorf("cannot store a %T", v)
}

func appendElems[T any](b []byte, a []T, k weights.Kind) ([]byte, error) {
	t, err := typeNumber(k)
	if err != nil {
		return nil, err
	}
	b = binary.LittleEndian.AppendUint32(b, t)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(a)))
	for _, v := range a {
		if b, err = appendScalar(b, v, k); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// typeNumber returns the number of scalars of kind k.
func typeNumber(k weights.Kind) (uint32, error) {
	for t := range valueTypes {
		if k != 0 && valueTypes[t].kind == k {
			return uint32(t), nil
		}
	}
	return 0, fmt.Errorf("no metadata is stored as %s", k)
}

// appendScalar appends v as kind k. A value that k cannot be is an error.
func appendScalar(b []byte, v weights.Value, k weights.Kind) ([]byte, error) {
	le := binary.LittleEndian
	switch v := v.(type) {
	case bool:
		if k == weights.Bool {
			if v {
				return append(b, 1), nil
			}
			return append(b, 0), nil
		}
	case string:
		if k == weights.String {
			return appendString(b, v), nil
		}
	case float64:
		switch k {
		case weights.Float32:
			return le.AppendUint32(b, math.Float32bits(float32(v))), nil
		case weights.Float64:
			return le.AppendUint64(b, math.Float64bits(v)), nil
		}
	case uint64:
		if k == weights.Uint64 {
			return le.AppendUint64(b, v), nil
		}
	case int64:
		if !fits(v, k) {
			break
		}
		switch k {
		case weights.Uint8, weights.Int8:
			return append(b, byte(v)), nil
		case weights.Uint16, weights.Int16:
			return le.AppendUint16(b, uint16(v)), nil
		case weights.Uint32, weights.Int32:
			return le.AppendUint32(b, uint32(v)), nil
		}
		return le.AppendUint64(b, uint64(v)), nil
	}
	return nil, fmt.Errorf("%v (%T) cannot be stored as %s", v, v, k)
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}
