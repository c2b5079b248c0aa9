package onnx_test

import (
	"errors"
	"testing"

	"quern/formats/onnx"
)

func TestParseItem(t *testing.T) {
	one := msg(3, num(1, 1), num(2, 3), text(9, "\x07"))
	two := msg(3, num(1, 2), num(2, 3), text(9, "ab"))
	seq, err := onnx.ParseItem(append(append([]byte{}, one...), two...), onnx.KindSequence)
	if err != nil {
		t.Fatal(err)
	}
	if len(seq.Seq) != 2 || string(seq.Seq[1].Tensor.Data) != "ab" {
		t.Errorf("sequence is %+v, want two tensors, the last ab", seq)
	}
	some, err := onnx.ParseItem(one, onnx.KindOptional)
	if err != nil || some.Tensor == nil || some.Seq != nil {
		t.Errorf("optional tensor is %+v, %v", some, err)
	}
	if none, err := onnx.ParseItem(nil, onnx.KindOptional); err != nil || none.Tensor != nil || none.Seq != nil {
		t.Errorf("empty optional is %+v, %v", none, err)
	}
	if empty, err := onnx.ParseItem(nil, onnx.KindSequence); err != nil || empty.Seq == nil {
		t.Errorf("empty sequence is %+v, %v", empty, err)
	}
	if some, err := onnx.ParseItem(msg(5, one), onnx.KindOptional); err != nil || len(some.Seq) != 1 {
		t.Errorf("optional sequence is %+v, %v", some, err)
	}
	if _, err := onnx.ParseItem(msg(4), onnx.KindSequence); !errors.Is(err, onnx.ErrUnsupported) {
		t.Errorf("sparse tensor: %v, want ErrUnsupported", err)
	}
}

func FuzzParseItem(f *testing.F) {
	f.Add(msg(3, num(1, 1), num(2, 3), text(9, "\x07")), true)
	f.Add(msg(5, msg(3, num(1, 2), num(2, 3), text(9, "ab"))), false)
	f.Fuzz(func(t *testing.T, data []byte, seq bool) {
		kind := onnx.KindOptional
		if seq {
			kind = onnx.KindSequence
		}
		if _, err := onnx.ParseItem(data, kind); err != nil && !errors.Is(err, onnx.ErrFormat) && !errors.Is(err, onnx.ErrUnsupported) {
			t.Fatalf("error %v wraps no sentinel", err)
		}
	})
}
