package onnx_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// npy builds a file as numpy.save does.
func npy(header string, data ...byte) []byte {
	header += "\n"
	return append([]byte("\x93NUMPY\x01\x00"+string(rune(len(header)))+"\x00"+header), data...)
}

func TestReadNPY(t *testing.T) {
	for _, tt := range []struct {
		name  string
		file  []byte
		shape []int
		want  []float64
		err   error
	}{
		{"floats", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 0, 0, 128, 63, 0, 0, 0, 192), []int{2}, []float64{1, -2}, nil},
		{"column order", npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", 1, 2, 3, 4, 5, 255), []int{2, 3}, []float64{1, 3, 5, 2, 4, -1}, nil},
		{"scalar", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (), }", 0, 0x3e), []int{}, []float64{1.5}, nil},
		{"bool", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", 0, 1), []int{2}, []float64{0, 1}, nil},
		{"empty", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 3), }"), []int{0, 3}, nil, nil},
		{"big-endian", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (0,), }"), nil, nil, onnx.ErrUnsupported},
		{"text", npy("{'descr': '<U3', 'fortran_order': False, 'shape': (0,), }"), nil, nil, onnx.ErrUnsupported},
		{"short", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", 1), nil, nil, onnx.ErrFormat},
		{"huge", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2000000000, 2000000000), }", 1), nil, nil, onnx.ErrUnsupported},
		{"no shape", npy("{'descr': '<f4', 'fortran_order': False, }", 1), nil, nil, onnx.ErrFormat},
		{"something else", []byte("PK\x03\x04 and more of it"), nil, nil, onnx.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := run.ReadNPY(tt.file)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			d, err := got.Convert(onnx.Double)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.Shape, tt.shape) || !slices.Equal(d.D, tt.want) {
				t.Errorf("%v of shape %d, want %v of %d", d.D, d.Shape, tt.want, tt.shape)
			}
		})
	}
}

// TestWriteNPY holds a file against the bytes numpy 1.24 writes for
// numpy.save(f, numpy.array([[1, 2, 3]], numpy.float32)), and every type
// against what is read back.
func TestWriteNPY(t *testing.T) {
	var b bytes.Buffer
	if err := run.WriteNPY(&b, run.NewFloats([]int{1, 3}, []float32{1, 2, 3})); err != nil {
		t.Fatal(err)
	}
	want := "934e554d505901007600" +
		hex.EncodeToString([]byte("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }"+strings.Repeat(" ", 58)+"\n")) +
		"0000803f0000004000004040"
	if got := hex.EncodeToString(b.Bytes()); got != want {
		t.Errorf("file\n%s, want\n%s", got, want)
	}
	x := run.NewDoubles([]int{3}, []float64{0, 1, 1})
	for _, tt := range []struct{ as, back onnx.DType }{
		{onnx.Bool, onnx.Bool}, {onnx.Int8, onnx.Int8}, {onnx.Uint16, onnx.Uint16}, {onnx.Int64, onnx.Int64},
		{onnx.Float16, onnx.Float16}, {onnx.BFloat16, onnx.Float}, {onnx.Uint4, onnx.Uint8}, {onnx.Float8E5M2, onnx.Float},
	} {
		c, err := x.Convert(tt.as)
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		if err := run.WriteNPY(&b, c); err != nil {
			t.Fatal(err)
		}
		got, err := run.ReadNPY(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		d, err := got.Convert(onnx.Double)
		if err != nil {
			t.Fatal(err)
		}
		if got.Type != tt.back || !slices.Equal(d.D, x.D) {
			t.Errorf("%v comes back as %v %v, want %v %v", tt.as, got.Type, d.D, tt.back, x.D)
		}
	}
	if err := run.WriteNPY(&b, run.NewSequence()); !errors.Is(err, onnx.ErrUnsupported) {
		t.Errorf("sequence: %v, want ErrUnsupported", err)
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", 0, 0, 128, 63, 0, 0, 0, 192))
	f.Add(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", 0, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := run.ReadNPY(data)
		if err != nil {
			if !errors.Is(err, onnx.ErrFormat) && !errors.Is(err, onnx.ErrUnsupported) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		var b bytes.Buffer
		if err := run.WriteNPY(&b, x); err != nil {
			t.Fatal(err)
		}
		if _, err := run.ReadNPY(b.Bytes()); err != nil {
			t.Fatalf("what was written: %v", err)
		}
	})
}
