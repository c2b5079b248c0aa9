package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"quern/bench/internal/must"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/quant"
)

// A shape is the size of a model.
type shape struct {
	layers, width, heads, inner, channels, places int // of the encoder
	bands, taps                                   int
	vocab, hidden, durations                      int // without <blk>; of predictor and joint
}

// published are the sizes of parakeet-tdt-0.6b: v2's vocabulary, and v3's.
var published = map[string]shape{
	"0.6b-v2": {24, 1024, 8, 4096, 256, 5000, 128, 9, 1024, 640, 5},
	"0.6b-v3": {24, 1024, 8, 4096, 256, 5000, 128, 9, 8192, 640, 5},
	"small":   {2, 64, 4, 128, 16, 1000, 128, 9, 64, 32, 5},
}

// A writer records one graph, with its large constants in a file beside it.
type writer struct {
	*onnxtest.Builder
	shape
	int8s     bool
	file      *os.File
	out       *bufio.Writer
	at        int64
	places    map[*onnx.Tensor]*onnxtest.Place
	quantised map[string][3]string // by value: as uint8, scale, zero point
	seed      uint64
}

// A number says what products are of.
type number struct {
	suffix string // of the graphs' names
	int8s  bool
	half   bool // everything else is, but what comes in and goes out
}

var numbers = map[string]number{
	"f32":  {".onnx", false, false},
	"f16":  {".fp16.onnx", false, true},
	"int8": {".int8.onnx", true, false},
}

// generate writes a model of random weights in sherpa-onnx's layout.
func generate(dir string, s shape, of number) (err error) {
	defer must.Catch(&err)
	must.Do(os.MkdirAll(dir, 0o755))
	for name, record := range map[string]func(*writer){"encoder": (*writer).encoder, "decoder": (*writer).predictor, "joiner": (*writer).joiner} {
		w := &writer{Builder: onnxtest.New(17), shape: s, int8s: of.int8s, places: map[*onnx.Tensor]*onnxtest.Place{}, quantised: map[string][3]string{}, seed: uint64(len(name))}
		w.Half = of.half
		path := filepath.Join(dir, name+of.suffix)
		weights := strings.TrimSuffix(path, ".onnx") + ".weights"
		w.file = must.Get(os.Create(weights))
		w.out = bufio.NewWriterSize(w.file, 1<<20)
		record(w)
		must.Do(w.out.Flush())
		must.Do(w.file.Close())
		must.Do(os.WriteFile(path, onnxtest.MarshalBeside(&w.Model, func(t *onnx.Tensor) *onnxtest.Place { return w.places[t] }), 0o644))
		if w.at == 0 {
			must.Do(os.Remove(weights))
		}
	}
	var tokens strings.Builder
	for i := range s.vocab {
		fmt.Fprintf(&tokens, "\u2581w%d %d\n", i, i)
	}
	fmt.Fprintf(&tokens, "<blk> %d\n", s.vocab)
	return os.WriteFile(filepath.Join(dir, "tokens.txt"), []byte(tokens.String()), 0o644)
}

// next is a random number of −1 to 1.
func (w *writer) next() float32 {
	w.seed = w.seed*6364136223846793005 + 1442695040888963407
	return float32(int32(w.seed>>32)) / (1 << 31)
}

// large is a constant in the file beside the graph.
func (w *writer) large(t onnx.DType, shape []int, write func(n int)) string {
	n := 1
	for _, d := range shape {
		n *= d
	}
	c := &onnx.Tensor{Type: t, Shape: shape}
	size := int64(n) * int64(t.Bits()/8)
	write(n)
	w.places[c] = &onnxtest.Place{File: filepath.Base(w.file.Name()), Offset: w.at, Length: size}
	w.at += size
	return w.Weight(c)
}

// uniform is a constant of random numbers with a deviation of by.
func (w *writer) uniform(by float64, shape ...int) string {
	by *= math.Sqrt(3)
	var b [4]byte
	number := func(v float32) { // Flush returns errors
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
		w.out.Write(b[:])
	}
	if w.Half {
		number = func(v float32) {
			binary.LittleEndian.PutUint16(b[:], quant.F32ToF16(v))
			w.out.Write(b[:2])
		}
	}
	return w.large(w.FloatType(), shape, func(n int) {
		for range n {
			number(w.next() * float32(by))
		}
	})
}

// take is an input of float32, give such an output.
func (w *writer) take(name string, dims ...any) string {
	x := w.Input(name, onnx.Float, dims...)
	if w.Half {
		x = w.Cast(x, onnx.Float16)
	}
	return x
}

func (w *writer) give(name, value string, dims ...any) {
	if w.Half {
		value = w.Cast(value, onnx.Float)
	}
	w.Output(name, value, onnx.Float, dims...)
}

// bytesOf is a constant of random bytes about 128, as quantised weights are.
func (w *writer) bytesOf(shape ...int) string {
	return w.large(onnx.Uint8, shape, func(n int) {
		for range n {
			w.out.WriteByte(byte(128 + 60*w.next()))
		}
	})
}

func (w *writer) fill(v float32, shape ...int) string {
	n := 1
	for _, d := range shape {
		n *= d
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = v + w.next()*0.1
	}
	return w.Floats(shape, x...)
}

func (w *writer) op(name string, in ...string) string { return w.Node(name, in) }

// quantise makes x one of bytes.
func (w *writer) quantise(x string) [3]string {
	q, ok := w.quantised[x]
	if !ok {
		q = [3]string{x + "_q", x + "_scale", x + "_zero"}
		w.Named(q[:], "DynamicQuantizeLinear", []string{x})
		w.quantised[x] = q
	}
	return q
}

// whole makes numbers of a product of bytes, whose weights have a deviation of by.
func (w *writer) whole(y string, q [3]string, by float64) string {
	return w.op("Mul", w.Cast(y, w.FloatType()), w.op("Mul", q[1], w.Floats([]int{1}, float32(by*math.Sqrt(3)/60))))
}

func (w *writer) zero() string {
	return w.Weight(&onnx.Tensor{Type: onnx.Uint8, Shape: []int{}, Data: []byte{128}})
}

// linear is x·W without bias.
func (w *writer) linear(x string, in, out int) string {
	by := 1 / math.Sqrt(float64(in))
	if !w.int8s {
		return w.op("MatMul", x, w.uniform(by, in, out))
	}
	q := w.quantise(x)
	return w.whole(w.op("MatMulInteger", q[0], w.bytesOf(in, out), q[2], w.zero()), q, by)
}

// conv is a convolution; shape is that of its filters.
func (w *writer) conv(x string, bias bool, shape []int, attrs ...*onnx.Attr) string {
	in := 1
	for _, d := range shape[1:] {
		in *= d
	}
	by := math.Sqrt(2 / float64(in))
	if !w.int8s {
		args := []string{x, w.uniform(by, shape...)}
		if bias {
			args = append(args, w.fill(0, shape[0]))
		}
		return w.Node("Conv", args, attrs...)
	}
	q := w.quantise(x)
	y := w.whole(w.Node("ConvInteger", []string{q[0], w.bytesOf(shape...), q[2], w.zero()}, attrs...), q, by)
	if !bias {
		return y
	}
	ones := []int{1, shape[0]}
	for range shape[2:] {
		ones = append(ones, 1)
	}
	return w.op("Add", y, w.fill(0, ones...))
}

func (w *writer) norm(x string) string {
	return w.Node("LayerNormalization", []string{x, w.fill(1, w.width), w.fill(0, w.width)}, onnxtest.Int("axis", -1), onnxtest.Float("epsilon", 1e-5))
}

func (w *writer) swish(x string) string { return w.op("Mul", x, w.op("Sigmoid", x)) }

func (w *writer) transpose(x string, perm ...int64) string {
	return w.Node("Transpose", []string{x}, onnxtest.IntList("perm", perm...))
}

func (w *writer) feedForward(x string) string {
	y := w.linear(w.swish(w.linear(w.norm(x), w.width, w.inner)), w.inner, w.width)
	return w.op("Add", x, w.op("Mul", y, w.Floats(nil, 0.5)))
}
