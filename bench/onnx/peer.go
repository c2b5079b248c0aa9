package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"quern/bench/internal/must"
	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// A peer is a process that runs models with onnxruntime-node; see peer.mjs.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startPeer starts one with the packages in dir, which holds node_modules.
func startPeer(script, dir string) (_ *peer, err error) {
	defer must.Catch(&err)
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "onnxruntime-node")); err != nil {
		return nil, fmt.Errorf("%s holds no node_modules with onnxruntime-node: %w", dir, err)
	}
	p := &peer{cmd: exec.Command("node", script, dir)}
	p.cmd.Stderr = os.Stderr
	p.in = must.Get(p.cmd.StdinPipe())
	out := must.Get(p.cmd.StdoutPipe())
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// stop ends the process and waits for it.
func (p *peer) stop() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

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
	Error   string                `json:"error"`
	Outputs map[string]wireTensor `json:"outputs"`
	MS, CPU []float64
}

func (p *peer) ask(q request) (r reply, err error) {
	defer must.Catch(&err)
	line := must.Get(json.Marshal(q))
	must.Get(p.in.Write(append(line, '\n')))
	if line, err = p.out.ReadBytes('\n'); err != nil {
		return r, fmt.Errorf("the peer ended: %w", err)
	}
	must.Do(json.Unmarshal(line, &r))
	if r.Error != "" {
		return r, fmt.Errorf("onnxruntime: %s", r.Error)
	}
	return r, nil
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
