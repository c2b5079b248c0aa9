package onnx_test

import (
	"math"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// A layer is one direction of a recurrent layer in double precision.
type layer struct {
	in, n      int
	w, r, bias []float32
}

// gate returns gate g of gates before its activation, of the input and the
// state apart.
func (l *layer) gate(gates, g, k int, x []float32, h []float64) (in, rec float64) {
	row := g*l.n + k
	in, rec = float64(l.bias[row]), float64(l.bias[gates*l.n+row])
	for i, v := range x {
		in += float64(l.w[row*l.in+i]) * float64(v)
	}
	for i, v := range h {
		rec += float64(l.r[row*l.n+i]) * v
	}
	return in, rec
}

// steps are what cells do: h and c are the state before and after.
var recurrentSteps = map[string]struct {
	gates int
	step  func(l *layer, x []float32, h, c []float64)
}{
	"RNN": {1, func(l *layer, x []float32, h, _ []float64) {
		next := make([]float64, l.n)
		for k := range next {
			a, b := l.gate(1, 0, k, x, h)
			next[k] = math.Tanh(a + b)
		}
		copy(h, next)
	}},
	"LSTM": {4, func(l *layer, x []float32, h, c []float64) {
		next := make([]float64, l.n)
		for k := range next {
			var g [4]float64
			for i := range g {
				a, b := l.gate(4, i, k, x, h)
				g[i] = a + b
			}
			c[k] = sigmoid(g[2])*c[k] + sigmoid(g[0])*math.Tanh(g[3])
			next[k] = sigmoid(g[1]) * math.Tanh(c[k])
		}
		copy(h, next)
	}},
	"GRU": {3, func(l *layer, x []float32, h, _ []float64) {
		next := make([]float64, l.n)
		for k := range next {
			z, zr := l.gate(3, 0, k, x, h)
			r, rr := l.gate(3, 1, k, x, h)
			v, vr := l.gate(3, 2, k, x, h)
			z = sigmoid(z + zr)
			next[k] = (1-z)*math.Tanh(v+sigmoid(r+rr)*vr) + z*h[k]
		}
		copy(h, next)
	}},
}

// TestRecurrent runs sequences of different lengths in all directions.
func TestRecurrent(t *testing.T) {
	const times, batch, in, n = 7, 3, 5, 6
	lengths := []int64{7, 4, 0}
	for name, of := range recurrentSteps {
		for _, direction := range []string{"forward", "reverse", "bidirectional"} {
			t.Run(name+" "+direction, func(t *testing.T) {
				directions := 1
				if direction == "bidirectional" {
					directions = 2
				}
				g := of.gates
				x, w, r, bias := wave(times, batch, in), wave(directions, g*n, in), wave(directions, g*n, n), wave(directions, 2*g*n)
				h0, c0 := wave(directions, batch, n), wave(directions, batch, n)
				lens := convert(t, list64(lengths...), onnx.Int32)
				given := []*run.Tensor{x, w, r, bias, lens, h0}
				inputs := "a b c d e f"
				if name == "LSTM" {
					given, inputs = append(given, c0), inputs+" g"
				}
				want, last := make([]float64, times*directions*batch*n), make([]float64, directions*batch*n)
				for d := range directions {
					l := &layer{in, n, w.F[d*g*n*in:][:g*n*in], r.F[d*g*n*n:][:g*n*n], bias.F[d*2*g*n:][:2*g*n]}
					for b, length := range lengths {
						h, c := make([]float64, n), make([]float64, n)
						for k := range h {
							h[k], c[k] = float64(h0.F[(d*batch+b)*n+k]), float64(c0.F[(d*batch+b)*n+k])
						}
						for s := range int(length) {
							at := s
							if d == 1 || direction == "reverse" {
								at = int(length) - 1 - s
							}
							of.step(l, x.F[(at*batch+b)*in:][:in], h, c)
							copy(want[((at*directions+d)*batch+b)*n:], h)
						}
						copy(last[(d*batch+b)*n:], h)
					}
				}
				for out, want := range map[string][]float64{"y": want, "_ y": last} {
					got, err := runNode(t, node(name, inputs, out, textAttr("direction", direction), intAttr("hidden_size", n), intAttr("linear_before_reset", 1)), run.Options{}, given...)
					if err != nil {
						t.Fatal(err)
					}
					near(t, doubles(t, got), want, 1e-4)
				}
			})
		}
	}
}

// TestLong runs an LSTM as most are, without options over sequences of one length, on one
// thread and on two, and with every option that changes nothing.
func TestLong(t *testing.T) {
	const times, batch, in, n = 150, 3, 5, 20
	x, h0, c0 := wave(times, batch, in), wave(2, batch, n), wave(2, batch, n)
	w, r, bias := wave(2, 4*n, in), wave(2, 4*n, n), wave(2, 8*n)
	want := make([]float64, times*2*batch*n)
	ends := [2][]float64{make([]float64, 2*batch*n), make([]float64, 2*batch*n)}
	for d := range 2 {
		l := &layer{in, n, w.F[d*4*n*in:][:4*n*in], r.F[d*4*n*n:][:4*n*n], bias.F[d*8*n:][:8*n]}
		for b := range batch {
			h, c := make([]float64, n), make([]float64, n)
			for k := range h {
				h[k], c[k] = float64(h0.F[(d*batch+b)*n+k]), float64(c0.F[(d*batch+b)*n+k])
			}
			for s := range times {
				at := s
				if d == 1 {
					at = times - 1 - s
				}
				recurrentSteps["LSTM"].step(l, x.F[(at*batch+b)*in:][:in], h, c)
				copy(want[((at*2+d)*batch+b)*n:], h)
			}
			copy(ends[0][(d*batch+b)*n:], h)
			copy(ends[1][(d*batch+b)*n:], c)
		}
	}
	lens := convert(t, list64(times, times, times), onnx.Int32)
	usual := &onnx.Attr{Name: "activations", Strings: []string{"Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"}}
	var first []float64
	for _, tt := range []struct {
		name, inputs string
		attr         *onnx.Attr
		given        []*run.Tensor
	}{
		{"usual", "a b c d _ e f", intAttr("layout", 0), []*run.Tensor{x, w, r, bias, h0, c0}},
		{"with lengths", "a b c d e f g", intAttr("layout", 0), []*run.Tensor{x, w, r, bias, lens, h0, c0}},
		{"with activations", "a b c d _ e f", usual, []*run.Tensor{x, w, r, bias, h0, c0}},
	} {
		for out, want := range map[string][]float64{"y": want, "_ y": ends[0], "_ _ y": ends[1]} {
			for _, workers := range []int{1, 2} {
				p := threads.NewPool(workers)
				got, err := runNode(t, node("LSTM", tt.inputs, out, textAttr("direction", "bidirectional"), intAttr("hidden_size", n), tt.attr), run.Options{Pool: p}, tt.given...)
				p.Close()
				if err != nil {
					t.Fatal(err)
				}
				near(t, doubles(t, got), want, 1e-4)
				if out != "y" {
					continue
				}
				if first == nil {
					first = doubles(t, got)
				}
				if !slices.Equal(doubles(t, got), first) {
					t.Errorf("%s on %d threads: other bits", tt.name, workers)
				}
			}
		}
	}
}

func TestRecurrentRefuses(t *testing.T) {
	x, w, r := wave(2, 1, 3), wave(1, 4, 3), wave(1, 4, 4)
	one := func(in ...*run.Tensor) []*run.Tensor { return in }
	checkNodes(t, []nodeCase{
		{"weights of another size", node("RNN", "a b c", "y"), one(x, wave(1, 4, 2), r), nil, nil, onnx.ErrFormat},
		{"no such direction", node("RNN", "a b c", "y", textAttr("direction", "up")), one(x, w, r), nil, nil, onnx.ErrFormat},
		{"no such activation", node("RNN", "a b c", "y", &onnx.Attr{Name: "activations", Strings: []string{"Wave"}}), one(x, w, r), nil, nil, onnx.ErrUnsupported},
		{"doubles", node("RNN", "a b c", "y"), one(convert(t, x, onnx.Double), convert(t, w, onnx.Double), convert(t, r, onnx.Double)), nil, nil, onnx.ErrUnsupported},
		{"sequences longer than the input", node("RNN", "a b c _ d", "y"), one(x, w, r, list64(3)), nil, nil, onnx.ErrFormat},
	})
}

// TestActivations runs a cell of one number, whose state is its activation.
func TestActivations(t *testing.T) {
	for name, want := range map[string]float64{
		"Sigmoid": sigmoid(-0.5), "Tanh": math.Tanh(-0.5), "Relu": 0, "Affine": 0.5, "LeakyRelu": -1, "ThresholdedRelu": 0,
		"ScaledTanh": 2 * math.Tanh(-0.75), "HardSigmoid": 0.5, "Elu": 2 * math.Expm1(-0.5), "Softsign": -0.5 / 1.5, "Softplus": math.Log1p(math.Exp(-0.5)),
	} {
		got, err := runNode(t, node("RNN", "a b c", "y", &onnx.Attr{Name: "activations", Strings: []string{name}},
			&onnx.Attr{Name: "activation_alpha", Floats: []float32{2}}, &onnx.Attr{Name: "activation_beta", Floats: []float32{1.5}}),
			run.Options{}, floats([]int{1, 1, 1}, -0.5), floats([]int{1, 1, 1}, 1), floats([]int{1, 1, 1}, 1))
		if err != nil {
			t.Fatal(err)
		}
		if d := math.Abs(float64(got.F[0]) - want); !(d < 1e-5) {
			t.Errorf("%s of -0.5 is %v, want %v", name, got.F[0], want)
		}
	}
}
