package main

import (
	"quern/bench/internal/peer"
	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// A node runs models with onnxruntime-node; see peer.mjs.
type node = peer.Process[request, reply]

// A wireTensor is a tensor as peer.mjs has it.
type wireTensor struct {
	Type string `json:"type"`
	Dims []int  `json:"dims"`
	Data []byte `json:"data"`
}

type request struct {
	Load    string                `json:"load,omitempty"`
	Threads int                   `json:"threads,omitempty"`
	Inputs  map[string]wireTensor `json:"inputs,omitempty"`
	Runs    int                   `json:"runs,omitempty"`
}

type reply struct {
	Outputs map[string]wireTensor `json:"outputs"`
	MS, CPU []float64
}

// wireTypes are the names JavaScript has for element types.
var wireTypes = map[onnx.DType]string{
	onnx.Float: "float32", onnx.Double: "float64", onnx.Float16: "float16", onnx.Int64: "int64", onnx.Int32: "int32",
	onnx.Int16: "int16", onnx.Uint16: "uint16", onnx.Uint8: "uint8", onnx.Int8: "int8", onnx.Bool: "bool", onnx.Uint32: "uint32", onnx.Uint64: "uint64",
}

func toWire(in map[string]*run.Tensor) map[string]wireTensor {
	out := make(map[string]wireTensor)
	for name, t := range in {
		f := t.ToFile(name)
		if f.Shape == nil {
			f.Shape = []int{}
		}
		out[name] = wireTensor{wireTypes[f.Type], f.Shape, f.Data}
	}
	return out
}

func fromWire(in map[string]wireTensor) (map[string]*run.Tensor, error) {
	out := make(map[string]*run.Tensor)
	for name, w := range in {
		f := &onnx.Tensor{Name: name, Shape: w.Dims, Data: w.Data}
		for t, s := range wireTypes {
			if s == w.Type {
				f.Type = t
			}
		}
		var err error
		if out[name], err = run.FromFile(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}
