package onnx

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// message encodes a protobuf message from pairs of a field number and a value: a
// number, a string or another message.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		num := uint64(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, num<<3), uint64(v))
		case string:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, num<<3|2), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, num<<3|2), uint64(len(v))), v...)
		}
	}
	return b
}

// valueInfo declares a tensor of a type and sizes.
func valueInfo(name string, elem int, dims ...int) []byte {
	var shape []byte
	for _, d := range dims {
		shape = append(shape, message(1, message(1, d))...)
	}
	return message(1, name, 2, message(1, message(1, elem, 2, shape)))
}

func modelFile(graph []byte) []byte {
	return message(1, 8, 8, message(2, 17), 7, graph)
}

// FuzzModel runs files: small models, and what the fuzzer makes of them.
func FuzzModel(f *testing.F) {
	pool := threads.NewPool(1)
	f.Cleanup(pool.Close)
	body := message(
		1, message(1, "v", 1, "v", 2, "w", 4, "Add"), 1, message(1, "on", 2, "go", 4, "Identity"),
		11, message(1, "i"), 11, message(1, "on"), 11, message(1, "v"), 12, valueInfo("go", 9), 12, valueInfo("w", 1), 12, valueInfo("w", 1, 2))
	for _, graph := range [][]byte{
		message(1, message(1, "x", 1, "y", 2, "z", 4, "Mul"), 11, valueInfo("x", 1, 2, 3), 11, valueInfo("y", 1, 3), 12, valueInfo("z", 1)),
		message(1, message(1, "n", 1, "", 1, "x", 2, "z", 2, "rows", 4, "Loop", 5, message(1, "body", 20, 5, 6, body)),
			5, message(1, 1, 2, 7, 8, "n", 9, "\x03\x00\x00\x00\x00\x00\x00\x00"), 11, valueInfo("x", 1, 2), 12, valueInfo("z", 1), 12, valueInfo("rows", 1)),
		message(1, message(1, "x", 1, "w", 2, "z", 4, "MatMulInteger"), 1, message(1, "z", 2, "s", 4, "ReduceSum", 5, message(1, "keepdims", 3, 0, 20, 2)),
			5, message(1, 2, 1, 2, 2, 3, 8, "w", 9, "\x01\xff\x80\x7f"), 11, valueInfo("x", 3, 1, 2), 12, valueInfo("s", 6)),
		message(1, message(1, "x", 2, "s", 4, "Shape"), 1, message(1, "s", 2, "z", 4, "ConstantOfShape"), 1, message(1, "z", 1, "s", 2, "e", 4, "Expand"),
			11, valueInfo("x", 10, 2, 2), 12, valueInfo("e", 1)),
	} {
		f.Add(modelFile(graph))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1000 {
			return
		}
		m, err := onnx.Parse(data, nil)
		if err != nil {
			return
		}
		s, err := New(m, run.Options{Pool: pool, Limit: 16 << 20})
		if err != nil {
			return
		}
		in := make(map[string]*tensor.Tensor)
		for _, v := range s.Inputs() {
			if v.Type.Kind != onnx.KindTensor || v.Type.Elem.Bits() == 0 || len(v.Type.Dims) > 4 {
				continue
			}
			var shape []int
			for _, d := range v.Type.Dims {
				shape = append(shape, int(min(max(d.Size, 0), 5)))
			}
			in[v.Name] = tensor.New(v.Type.Elem, shape...)
			for i := range in[v.Name].Len() {
				in[v.Name].Put(i, float64(i%3))
			}
		}
		out, err := s.Run(&budget{context.Background(), 500}, in)
		if err != nil {
			return
		}
		for name, v := range out {
			wellFormed(t, name, v)
		}
	})
}

// TestFuzzSeeds checks that the models of FuzzModel are such, and run.
func TestFuzzSeeds(t *testing.T) {
	pool := threads.NewPool(1)
	defer pool.Close()
	m, err := onnx.Parse(modelFile(message(
		1, message(1, "x", 1, "w", 2, "z", 4, "MatMulInteger"), 1, message(1, "z", 2, "s", 4, "ReduceSum", 5, message(1, "keepdims", 3, 0, 20, 2)),
		5, message(1, 2, 1, 2, 2, 3, 8, "w", 9, "\x01\xff\x80\x7f"), 11, valueInfo("x", 3, 1, 2), 12, valueInfo("s", 6))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(m, run.Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.New(onnx.Int8, 1, 2)
	x.I[0], x.I[1] = 3, 1
	out, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	// 3·1 + 1·-128 and 3·-1 + 1·127.
	if got := out["s"]; got.Type != onnx.Int32 || len(got.I) != 1 || got.I[0] != -1 {
		t.Errorf("sum %v %v, want -1", got.Type, got.I)
	}
	if _, err := s.Run(context.Background(), nil); err == nil || errors.Is(err, onnx.ErrFormat) {
		t.Errorf("without an input: %v", err)
	}
}
