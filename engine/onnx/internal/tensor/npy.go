package tensor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"quern/formats/onnx"
)

// descrs are the number types numpy and ONNX share, by numpy's name without the
// byte order.
var descrs = map[string]onnx.DType{
	"b1": onnx.Bool, "f2": onnx.Float16, "f4": onnx.Float, "f8": onnx.Double,
	"i1": onnx.Int8, "i2": onnx.Int16, "i4": onnx.Int32, "i8": onnx.Int64,
	"u1": onnx.Uint8, "u2": onnx.Uint16, "u4": onnx.Uint32, "u8": onnx.Uint64,
}

const npyMagic = "\x93NUMPY"

// ReadNPY reads an array as numpy.save writes it. Numbers are little-endian;
// strings and records are refused. Errors wrap ErrFormat or ErrUnsupported of
// package formats/onnx. The tensor may alias data.
//
// NumPy, "numpy.lib.format", versions 1 to 3.
func ReadNPY(data []byte) (t *Tensor, err error) {
	defer Rescue(&err)
	if len(data) < 12 || string(data[:6]) != npyMagic {
		Malformed("no numpy array")
	}
	size, start := int(binary.LittleEndian.Uint16(data[8:])), 10
	switch data[6] {
	case 1:
	case 2, 3:
		n := binary.LittleEndian.Uint32(data[8:])
		if n > uint32(len(data)) {
			Malformed("a header of %d bytes", n)
		}
		size, start = int(n), 12
	default:
		Unsupported("numpy array of version %d", data[6])
	}
	if size > len(data)-start {
		Malformed("a header of %d bytes", size)
	}
	descr, fortran, shape := npyHeader(string(data[start : start+size]))
	if len(descr) < 2 || strings.ContainsAny(descr[:1], ">!") {
		Unsupported("numpy type %.20q", descr)
	}
	dtype, ok := descrs[descr[1:]]
	if !ok {
		Unsupported("numpy type %.20q", descr)
	}
	body := data[start+size:]
	if n := Count(shape); len(body) != n*dtype.Bits()/8 {
		Malformed("%d bytes for %v of shape %d", len(body), dtype, shape)
	}
	stored := append([]int{}, shape...)
	if fortran { // the same numbers, first dimension fastest
		for i, d := range shape {
			stored[len(shape)-1-i] = d
		}
	}
	if t, err = FromFile(&onnx.Tensor{Type: dtype, Shape: stored, Data: body}); err != nil {
		return nil, err
	}
	if t = t.Whole(); t.Type == onnx.Bool {
		for i, v := range t.I {
			t.I[i] = Wrap(onnx.Bool, v)
		}
	}
	t.Raw = nil
	if fortran && len(shape) > 1 {
		step := Strides(stored)
		for i, j := 0, len(step)-1; i < j; i, j = i+1, j-1 {
			step[i], step[j] = step[j], step[i]
		}
		t = t.Pick(Walk(shape, step, 0), shape...)
	}
	return t, nil
}

// npyHeader reads the three entries of a header, a dictionary as Python writes
// it: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
func npyHeader(s string) (descr string, fortran bool, shape []int) {
	value := func(key string) string {
		_, rest, ok := strings.Cut(s, "'"+key+"'")
		if !ok {
			Malformed("numpy header without %s", key)
		}
		rest = strings.TrimLeft(rest, " ")
		if !strings.HasPrefix(rest, ":") {
			Malformed("numpy header without %s", key)
		}
		return strings.TrimLeft(rest[1:], " ")
	}
	if v := value("descr"); strings.HasPrefix(v, "'") {
		descr, _, _ = strings.Cut(v[1:], "'")
	}
	fortran = strings.HasPrefix(value("fortran_order"), "True")
	list, _, ok := strings.Cut(value("shape"), ")")
	if !ok || !strings.HasPrefix(list, "(") {
		Malformed("numpy header without a shape")
	}
	shape = []int{}
	for _, part := range strings.Split(list[1:], ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(part, "L"), 10, 31)
		if err != nil || len(shape) == MaxRank {
			Malformed("numpy shape %.100q", list)
		}
		shape = append(shape, int(n))
	}
	return descr, fortran, shape
}

// WriteNPY writes t as numpy.load reads it. Narrower floats than float16, and
// bfloat16, are written as float32, integers of less than 8 bits as those of 8.
func WriteNPY(w io.Writer, t *Tensor) error {
	if t.S != nil || t.Seq != nil || t.None() {
		return fmt.Errorf("%w: %v as numpy array", onnx.ErrUnsupported, t.Type)
	}
	descr := ""
	for name, d := range descrs {
		if d == t.Type {
			descr = name
		}
	}
	if descr == "" {
		wide := onnx.Float
		switch t.Type {
		case onnx.Int4, onnx.Int2:
			wide = onnx.Int8
		case onnx.Uint4, onnx.Uint2:
			wide = onnx.Uint8
		}
		c, err := t.Convert(wide)
		if err != nil {
			return err
		}
		return WriteNPY(w, c)
	}
	order := "<"
	if t.Type.Bits() == 8 {
		order = "|"
	}
	shape := ""
	for _, d := range t.Shape {
		shape += strconv.Itoa(d) + ", "
	}
	if len(t.Shape) > 1 {
		shape = strings.TrimSuffix(shape, ", ")
	}
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, descr, strings.TrimSuffix(shape, " "))
	// What comes before the numbers is a multiple of 64 bytes, newline included.
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString(npyMagic + "\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	b.WriteString(header)
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	_, err := w.Write(t.ToFile("").Data)
	return err
}
