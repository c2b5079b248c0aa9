package main

import (
	"maps"
	"math"
	"slices"
	"strings"

	"quern/bench/internal/must"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/threads"
)

// conversions are the kinds that a model of float32 is published in.
var conversions = []string{"f32", "f16", "int8", "qdq", "static"}

// converted makes one of conversions of a model; in is an input to calibrate with.
func converted(data []byte, of string, in map[string]*run.Tensor, pool *threads.Pool) []byte {
	if how, ok := calibrations[of]; ok {
		return static(data, how, in, pool)
	}
	m := must.Get(onnx.Parse(data, nil))
	c := &converter{rewriter: rewrites(m), inputs: make(map[string]bool)}
	switch of {
	case "f16":
		c.half(m)
	case "int8":
		c.dynamic(m)
	}
	return onnxtest.Marshal(m)
}

// A rewriter adds nodes to a model, and weights, to those that it had.
type rewriter struct {
	*onnxtest.Builder
	weights map[string]*onnx.Tensor
}

func rewrites(m *onnx.Model) rewriter {
	w := rewriter{&onnxtest.Builder{Model: *m}, make(map[string]*onnx.Tensor)}
	for _, t := range m.Graph.Initializers {
		w.weights[t.Name] = t
	}
	return w
}

func (w *rewriter) constant(name string, t *onnx.Tensor) string {
	t.Name = name
	return w.Weight(t)
}

// A converter makes a model of other numbers of one of float32.
type converter struct {
	rewriter
	inputs map[string]bool // values with a DynamicQuantizeLinear
}

// half makes floats float16 between inputs and outputs, as onnxconverter-common does.
func (c *converter) half(m *onnx.Model) {
	g := m.Graph
	for i, t := range g.Initializers {
		if t.Type == onnx.Float {
			g.Initializers[i] = asHalf(t)
		}
	}
	narrow := make(map[string]string) // names inside, of inputs and outputs
	var before, after []*onnx.Node
	cast := func(from, to string, t onnx.DType) *onnx.Node {
		return onnxtest.NewNode([]string{to}, "Cast", []string{from}, onnxtest.Int("to", int64(t)))
	}
	for _, v := range g.Inputs {
		if v.Type.Elem == onnx.Float {
			narrow[v.Name] = v.Name + "_half"
			before = append(before, cast(v.Name, v.Name+"_half", onnx.Float16))
		}
	}
	for _, v := range g.Outputs {
		if v.Type.Elem == onnx.Float {
			narrow[v.Name] = v.Name + "_half"
			after = append(after, cast(v.Name+"_half", v.Name, onnx.Float))
		}
	}
	for _, n := range g.Nodes {
		for _, names := range [][]string{n.Inputs, n.Outputs} {
			for i, name := range names {
				if to := narrow[name]; to != "" {
					names[i] = to
				}
			}
		}
		for _, a := range n.Attrs {
			if a.Name == "to" && a.I == int64(onnx.Float) {
				a.I = int64(onnx.Float16)
			}
			if a.T != nil && a.T.Type == onnx.Float {
				a.T = asHalf(a.T)
			}
		}
	}
	g.Nodes = slices.Concat(before, g.Nodes, after)
}

func asHalf(t *onnx.Tensor) *onnx.Tensor {
	h := onnxtest.HalfTensor(t.Shape, must.Get(run.FromFile(t)).F...)
	h.Name = t.Name
	return h
}

// dynamic makes products, convolutions and LSTMs with constants those of bytes, as
// onnxruntime.quantization.quantize_dynamic does with weights of uint8.
func (c *converter) dynamic(m *onnx.Model) {
	nodes := m.Graph.Nodes
	m.Graph.Nodes = nil
	for _, n := range nodes {
		var w *onnx.Tensor
		if len(n.Inputs) > 1 {
			w = c.weights[n.Inputs[1]]
		}
		make := dynamics[n.Op]
		if w == nil || w.Type != onnx.Float || make == nil {
			m.Graph.Nodes = append(m.Graph.Nodes, n)
			continue
		}
		make(c, n, w)
	}
}

// dynamics are how nodes become those of bytes.
var dynamics = map[string]func(c *converter, n *onnx.Node, w *onnx.Tensor){
	"MatMul": func(c *converter, n *onnx.Node, w *onnx.Tensor) { c.integers(n, w, "MatMulInteger", n.Outputs[0]) },
	"Conv": func(c *converter, n *onnx.Node, w *onnx.Tensor) {
		if len(n.Inputs) < 3 {
			c.integers(n, w, "ConvInteger", n.Outputs[0])
			return
		}
		y := n.Outputs[0] + "_sums"
		c.integers(n, w, "ConvInteger", y)
		shape := onnxtest.IntTensor([]int{len(w.Shape)}, slices.Concat([]int64{1, -1}, make([]int64, len(w.Shape)-2))...)
		for i := range len(w.Shape) - 2 {
			shape.Data[8*(2+i)] = 1
		}
		bias := c.op("Reshape", n.Outputs[0]+"_bias", n.Inputs[2], c.constant(n.Outputs[0]+"_shape", shape))
		c.Named(n.Outputs, "Add", []string{y, bias})
	},
	"LSTM": (*converter).lstm,
}

// integers is a product or convolution of bytes, times the scales, into out.
func (c *converter) integers(n *onnx.Node, w *onnx.Tensor, op, out string) {
	x := n.Inputs[0]
	if !c.inputs[x] {
		c.inputs[x] = true
		c.Named([]string{x + "_quantized", x + "_scale", x + "_zero_point"}, "DynamicQuantizeLinear", []string{x})
	}
	v := must.Get(run.FromFile(w)).F
	name := strings.Join([]string{w.Name, "of", out}, "_")
	scale, zero, bytes := quantized(v)
	in := []string{x + "_quantized", c.constant(name+"_quantized", &onnx.Tensor{Type: onnx.Uint8, Shape: w.Shape, Data: bytes}), x + "_zero_point",
		c.constant(name+"_zero_point", &onnx.Tensor{Type: onnx.Uint8, Data: []byte{zero}})}
	c.Named([]string{out + "_integers"}, op, in, slices.Collect(maps.Values(n.Attrs))...)
	c.Named([]string{out + "_floats"}, "Cast", []string{out + "_integers"}, onnxtest.Int("to", int64(onnx.Float)))
	by := c.op("Mul", out+"_scales", x+"_scale", c.constant(name+"_scale", onnxtest.FloatTensor([]int{1}, scale)))
	c.op("Mul", out, out+"_floats", by)
}

// lstm is DynamicQuantizeLSTM, whose weights are turned.
func (c *converter) lstm(n *onnx.Node, _ *onnx.Tensor) {
	in := append(slices.Clone(n.Inputs), make([]string, 8)...)[:8]
	var more []string
	for _, i := range []int{1, 2} {
		w := c.weights[in[i]]
		v := must.Get(run.FromFile(w)).F
		d, rows, columns := w.Shape[0], w.Shape[1], w.Shape[2]
		var data, zeros []byte
		var scales []float32
		for k := range d {
			scale, zero, bytes := quantized(v[k*rows*columns:][:rows*columns])
			scales, zeros = append(scales, scale), append(zeros, zero)
			for col := range columns {
				for row := range rows {
					data = append(data, bytes[row*columns+col])
				}
			}
		}
		in[i] = c.constant(w.Name+"_quantized", &onnx.Tensor{Type: onnx.Uint8, Shape: []int{d, columns, rows}, Data: data})
		more = append(more, c.constant(w.Name+"_scale", onnxtest.FloatTensor([]int{d}, scales...)), c.constant(w.Name+"_zero_point", &onnx.Tensor{Type: onnx.Uint8, Shape: []int{d}, Data: zeros}))
	}
	c.Named(n.Outputs, "com.microsoft.DynamicQuantizeLSTM", append(in, more...), slices.Collect(maps.Values(n.Attrs))...)
}

// quantized reads floats as uint8.
func quantized(v []float32) (scale float32, zero byte, bytes []byte) {
	low, high := min(0, slices.Min(v)), max(0, slices.Max(v))
	if scale = (high - low) / 255; scale == 0 {
		scale = 1
	}
	z := math.RoundToEven(float64(-low / scale))
	bytes = make([]byte, len(v))
	for i, x := range v {
		bytes[i] = byte(max(0, min(255, math.RoundToEven(float64(x/scale))+z)))
	}
	return scale, byte(z), bytes
}

func (c *converter) op(op, out string, in ...string) string {
	c.Named([]string{out}, op, in)
	return out
}
