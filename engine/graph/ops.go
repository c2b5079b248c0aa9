// Package graph holds a model's forward pass as data.
//
// A model records ops into a Builder; Compile turns the recording into a
// Program: steps in execution order with buffers assigned. Backends run
// Programs. The set of ops is closed: only this package declares them, and
// each backend maps every one of them to its kernels.
package graph

import (
	"fmt"

	"quern/formats/weights"
)

// A Shape is the extent of a value, outermost first. Activations of text
// models are (rows, width).
type Shape []int

// Elems returns the number of elements.
func (s Shape) Elems() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

func (s Shape) equal(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i] != o[i] {
			return false
		}
	}
	return true
}

// An Op is one step of a forward pass.
type Op interface {
	// Out checks the inputs' shapes and returns the result's. It fails when
	// weights and inputs do not fit, with both sizes in the message.
	Out(in ...Shape) (Shape, error)
}

// The ops. Inputs named in the comments are in order.
type (
	// Embed reads one row of Weight (vocab, width) per token. With Short, tokens behind the
	// last row are zeros; otherwise there must be none.
	// Inputs: tokens (rows). Result: (rows, width).
	Embed struct {
		Weight *weights.Tensor
		Short  bool
	}

	// Take selects rows. Inputs: x (rows, width), wanted row numbers (want).
	// Result: (want, width).
	Take struct{}

	// RMSNorm divides each group of len(Weight) values by its root mean square
	// and multiplies by Weight; a row may hold several groups (one per head). A matrix is
	// the weights of each group.
	// Zhang & Sennrich, "Root Mean Square Layer Normalization", 2019, eq. 4.
	RMSNorm struct {
		Weight *weights.Tensor // (group) or (groups, group)
		Eps    float32
	}

	// LayerNorm shifts each row to mean 0, divides it by its standard deviation,
	// multiplies by Weight and adds Bias. Bias may be nil.
	// Ba, Kiros & Hinton, "Layer Normalization", 2016, eq. 4.
	// A matrix (groups, group) of weights does so to each group, without a Bias.
	LayerNorm struct {
		Weight, Bias *weights.Tensor // (width), or (groups, group)
		Eps          float32
	}

	// Linear computes x · Weightᵀ + Bias. Weight is (out, in), Bias (out) or nil.
	// Inputs: x (rows, in). Result: (rows, out).
	Linear struct{ Weight, Bias *weights.Tensor }

	// Bias adds one vector to every row.
	Bias struct{ Vector *weights.Tensor } // (width)

	// Add sums two values of one shape.
	Add struct{}

	// Scale multiplies every value by By.
	Scale struct{ By float32 }

	// SoftCap squeezes every value into (-Limit, Limit): Limit · tanh(x / Limit).
	// Gemma Team, "Gemma 2", 2024, §2.
	SoftCap struct{ Limit float32 }

	// Activate applies an activation function that is no gate's.
	Activate struct{ Act Act }

	// Gate computes act(gate) · up, element by element.
	// Inputs: gate, up. Shazeer, "GLU Variants Improve Transformer", 2020.
	Gate struct{ Act Act }

	// Weigh multiplies each row by the sigmoid of its own number.
	// Inputs: x (rows, width), weight (rows, 1).
	Weigh struct{}

	// Rope rotates pairs of each head's first 2·len(Freqs) values by
	// position · frequency and scales them by Magnitude.
	// Inputs: x (rows, heads·HeadDim), positions (rows).
	// Su et al., "RoFormer", 2021.
	Rope struct {
		HeadDim     int
		Freqs       []float64 // radians per position, one per pair
		Magnitude   float32   // 1 unless a scaling method says otherwise
		Interleaved bool      // pairs are (2i, 2i+1), else (i, i+len(Freqs))
	}

	// Temper multiplies each row by 1 + Beta · ln(1 + ⌊(position + Offset) / Period⌋):
	// queries of far positions look more sharply.
	// Inputs: x (rows, width), positions (rows).
	// Meta, "Llama 4", 2025; after Nakanishi, "Scalable-Softmax Is Superior for
	// Attention", 2025.
	Temper struct {
		Beta           float64
		Period, Offset int
	}

	// Attention writes the batch's keys and values to layer Layer of the cache
	// and attends causally over each row's sequence so far. Query heads share
	// key heads in groups. Inputs: q (rows, Heads·HeadDim), k and v
	// (rows, KVHeads·HeadDim). Result: the shape of q.
	// Vaswani et al., 2017; Ainslie et al., "GQA", 2023.
	Attention struct {
		Layer, Heads, KVHeads, HeadDim int
		Scale                          float32 // of the scores, before softmax

		// Window, when above 0, is how many tokens a row sees, itself included; in a
		// Bidirectional one it sees those up to Window/2 before itself and behind.
		// Beltagy et al., "Longformer", 2020, §3.1.
		Window int
		// Chunk, when above 0, is the length of runs of positions outside which a row sees
		// nothing. Meta, "Llama 4", 2025.
		Chunk int
		// SoftCap, when above 0, limits scores as the op SoftCap does.
		SoftCap float32
		// Sinks, when not nil, is one more score per head (Heads) that takes
		// part in the softmax and has no value.
		// Xiao et al., "Efficient Streaming Language Models with Attention Sinks", 2023.
		Sinks *weights.Tensor
		// Slopes, when not nil, is subtracted from a score for each token between the
		// two, by head (Heads).
		// Press et al., "Train Short, Test Long: Attention with Linear Biases", 2022.
		Slopes []float32
		// Bidirectional lets every row see its whole sequence, which must be in
		// the batch from its first token to its last. Layers may then share one
		// layer of the cache.
		Bidirectional bool
	}

	// SharedAttention attends as an Attention, to the keys and values that one before it in
	// the pass has written to layer Layer. Inputs: q (rows, Heads·HeadDim). Result: the same.
	// Brandon et al., "Reducing Transformer Key-Value Cache Size with Cross-Layer
	// Attention", 2024.
	SharedAttention struct{ Attention }

	// Experts runs each row through some experts and sums their results by weight, by
	// Routing. An expert is Down · Gate{Act}(Gate · x, Up · x), or without Gate
	// Down · Activate{Act}(Up · x).
	// Inputs: x (rows, in), router (rows, experts). Result: (rows, out).
	// Shazeer et al., "Outrageously Large Neural Networks", 2017; Jiang et al.,
	// "Mixtral of Experts", 2024, §2.1.
	Experts struct {
		Gate, Up, Down             *weights.Tensor // (experts, ff, in) twice, (experts, out, ff); Gate may be nil
		GateBias, UpBias, DownBias *weights.Tensor // (experts, ff) twice, (experts, out); each may be nil
		Routing
		Act Act
	}
)

// Routing says which Used experts a row goes through, and by what their results are
// multiplied: the highest scores, of equals the lower expert, and their scores. A score is
// the softmax of the router over all experts, with Sigmoid that of its own number.
type Routing struct {
	Used    int
	Sigmoid bool

	// Bias, when not nil, is added to the scores where experts are chosen, and only there.
	// DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, §2.1.2.
	Bias *weights.Tensor // (experts)
	// Groups, when above 1, is into how many runs of one length the experts fall: they are
	// chosen within the UsedGroups best of those. A group is as good as its two best experts
	// together, with GroupMax as its best one.
	// DeepSeek-AI, "DeepSeek-V2", 2024, §2.2.2.
	Groups, UsedGroups int
	GroupMax           bool

	Renormalise bool    // weights are divided by the sum of those used
	Scale       float32 // and multiplied by this, unless it is 0
	// Factors, when not nil, multiply the weights of their experts, behind all that.
	Factors *weights.Tensor // (experts)
	// OnInput multiplies an expert's input by its weight instead of its result.
	OnInput bool

	// With SparseMixer the experts are chosen one after the other, and each is weighed by
	// the softmax over those left whose score s is near its own, m:
	// (m − s) / max(|s|, m) ≤ 2·Jitter. Nothing above but Used has a meaning then.
	// Liu et al., "GRIN: GRadient-INformed MoE", 2024, §2.
	SparseMixer bool
	Jitter      float32
}

// Plain reports whether a routing is the softmax of the highest, or SparseMixer.
func (r Routing) Plain() bool {
	return !r.Sigmoid && r.Bias == nil && r.Groups <= 1 && (r.Scale == 0 || r.Scale == 1) && r.Factors == nil && !r.OnInput
}

// check refuses a routing among n experts that contradicts itself.
func (r Routing) check(n int) error {
	switch groups := max(r.Groups, 1); {
	case r.Used < 1 || r.Used > n:
		return fmt.Errorf("experts: %d used of %d", r.Used, n)
	case r.Bias != nil && !hasShape(r.Bias, n):
		return fmt.Errorf("experts: routing bias %s for %d experts", describe(r.Bias), n)
	case r.Factors != nil && !hasShape(r.Factors, n):
		return fmt.Errorf("experts: routing factors %s for %d experts", describe(r.Factors), n)
	case n%groups != 0 || groups > 64 || groups > 1 && (r.UsedGroups < 1 || r.UsedGroups > groups || r.Used > r.UsedGroups*(n/groups)):
		return fmt.Errorf("experts: %d of %d in %d of %d groups", r.Used, n, r.UsedGroups, groups)
	case r.SparseMixer && !r.Plain():
		return fmt.Errorf("experts: a sparse mixer routed otherwise")
	}
	return nil
}

// An Act is an activation function.
type Act uint8

// The activation functions.
const (
	// SiLU is x · sigmoid(x). Only gates use it.
	SiLU Act = iota
	// GELU is x · Φ(x) with the normal distribution itself.
	// Hendrycks & Gimpel, "Gaussian Error Linear Units", 2016, §2.
	GELU
	// GELUTanh is the same paper's approximation of GELU by tanh.
	GELUTanh
	// SwiGLUClamped is min(gate, 7) · sigmoid(1.702 · min(gate, 7)), times up
	// limited to [-7, 7] plus 1. Only gates use it.
	// OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", 2025, §2.2.
	SwiGLUClamped
	// Sigmoid is 1 / (1 + e⁻ˣ).
	Sigmoid
	// Product is x: a gate by it is a product. Only gates use it.
	Product
	// SquaredReLU is max(x, 0)². So et al., "Primer", 2021. No gate uses it.
	SquaredReLU
	// Tanh is that of x. No gate uses it.
	Tanh
	// ReLU is max(x, 0). No gate uses it.
	ReLU
)

var actNames = [...]string{SiLU: "silu", GELU: "gelu", GELUTanh: "gelu-tanh", SwiGLUClamped: "swiglu-clamped", Sigmoid: "sigmoid", Product: "product", SquaredReLU: "squared-relu", Tanh: "tanh", ReLU: "relu"}

func (a Act) String() string {
	if int(a) < len(actNames) {
		return actNames[a]
	}
	return fmt.Sprintf("Act(%d)", uint8(a))
}

// alone reports whether a needs no gate.
func (a Act) alone() bool {
	return a == GELU || a == GELUTanh || a == SquaredReLU || a == Sigmoid || a == Tanh || a == ReLU
}

// gates reports whether a may be a gate.
func (a Act) gates() bool {
	return int(a) < len(actNames) && a != SquaredReLU && a != Tanh && a != ReLU
}

func (o Embed) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 2 {
		return nil, fmt.Errorf("embed: weight must be a matrix, got %s", describe(o.Weight))
	}
	if len(in[0]) != 1 {
		return nil, fmt.Errorf("embed: tokens of shape %v, want one dimension", in[0])
	}
	return Shape{in[0][0], o.Weight.Shape[1]}, nil
}

func (Take) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || len(in[1]) != 1 {
		return nil, fmt.Errorf("take: rows %v from %v", in[1], in[0])
	}
	return Shape{in[1][0], in[0][1]}, nil
}

func (o RMSNorm) Out(in ...Shape) (Shape, error) {
	if o.Weight != nil && len(o.Weight.Shape) == 2 && len(in[0]) == 2 && o.Weight.Elems() == in[0][1] {
		return in[0], nil
	}
	if o.Weight == nil || len(o.Weight.Shape) != 1 {
		return nil, fmt.Errorf("rmsnorm: weight must be a vector, got %s", describe(o.Weight))
	}
	if len(in[0]) != 2 || in[0][1]%o.Weight.Shape[0] != 0 {
		return nil, fmt.Errorf("rmsnorm: %s over rows of shape %v", describe(o.Weight), in[0])
	}
	return in[0], nil
}

func (o LayerNorm) Out(in ...Shape) (Shape, error) {
	if o.Weight != nil && len(o.Weight.Shape) == 2 && o.Bias == nil && len(in[0]) == 2 && o.Weight.Elems() == in[0][1] {
		return in[0], nil
	}
	if len(in[0]) != 2 || !hasShape(o.Weight, in[0][1]) || o.Bias != nil && !hasShape(o.Bias, in[0][1]) {
		return nil, fmt.Errorf("layernorm: %s and %s over rows of shape %v", describe(o.Weight), describe(o.Bias), in[0])
	}
	return in[0], nil
}

func (o Linear) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 2 {
		return nil, fmt.Errorf("linear: weight must be a matrix, got %s", describe(o.Weight))
	}
	if len(in[0]) != 2 || in[0][1] != o.Weight.Shape[1] {
		return nil, fmt.Errorf("linear: %s on input of shape %v", describe(o.Weight), in[0])
	}
	if b := o.Bias; b != nil && (len(b.Shape) != 1 || b.Shape[0] != o.Weight.Shape[0]) {
		return nil, fmt.Errorf("linear: bias %s for %s", describe(b), describe(o.Weight))
	}
	return Shape{in[0][0], o.Weight.Shape[0]}, nil
}

func (o Bias) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || !hasShape(o.Vector, in[0][1]) {
		return nil, fmt.Errorf("bias: %s on rows of shape %v", describe(o.Vector), in[0])
	}
	return in[0], nil
}

func (Add) Out(in ...Shape) (Shape, error) {
	if !in[0].equal(in[1]) {
		return nil, fmt.Errorf("add: shapes %v and %v differ", in[0], in[1])
	}
	return in[0], nil
}

func (Scale) Out(in ...Shape) (Shape, error) { return in[0], nil }

func (o SoftCap) Out(in ...Shape) (Shape, error) {
	if !(o.Limit > 0) {
		return nil, fmt.Errorf("softcap: limit %g, want more than 0", o.Limit)
	}
	return in[0], nil
}

func (o Activate) Out(in ...Shape) (Shape, error) {
	if !o.Act.alone() {
		return nil, fmt.Errorf("activate: %v does not stand alone", o.Act)
	}
	return in[0], nil
}

func (o Gate) Out(in ...Shape) (Shape, error) {
	if !o.Act.gates() {
		return nil, fmt.Errorf("gate: %v is no activation", o.Act)
	}
	if !in[0].equal(in[1]) {
		return nil, fmt.Errorf("gate: shapes %v and %v differ", in[0], in[1])
	}
	return in[0], nil
}

func (Weigh) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || !in[1].equal(Shape{in[0][0], 1}) {
		return nil, fmt.Errorf("weigh: rows %v by %v, want one number a row", in[0], in[1])
	}
	return in[0], nil
}

func (o Rope) Out(in ...Shape) (Shape, error) {
	if o.HeadDim <= 0 || len(o.Freqs) == 0 || 2*len(o.Freqs) > o.HeadDim {
		return nil, fmt.Errorf("rope: %d pairs in a head of %d", len(o.Freqs), o.HeadDim)
	}
	if len(in[0]) != 2 || in[0][1]%o.HeadDim != 0 || len(in[1]) != 1 || in[1][0] != in[0][0] {
		return nil, fmt.Errorf("rope: heads of %d in %v at positions %v", o.HeadDim, in[0], in[1])
	}
	return in[0], nil
}

func (o Temper) Out(in ...Shape) (Shape, error) {
	if o.Period < 1 || o.Offset < 0 || !(o.Beta >= 0) {
		return nil, fmt.Errorf("temper: beta %g, period %d, offset %d", o.Beta, o.Period, o.Offset)
	}
	if len(in[0]) != 2 || len(in[1]) != 1 || in[1][0] != in[0][0] {
		return nil, fmt.Errorf("temper: rows %v at positions %v", in[0], in[1])
	}
	return in[0], nil
}

func (o Attention) Out(in ...Shape) (Shape, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	q, kv := Shape{in[0][0], o.Heads * o.HeadDim}, Shape{in[0][0], o.KVHeads * o.HeadDim}
	if !in[0].equal(q) || !in[1].equal(kv) || !in[2].equal(kv) {
		return nil, fmt.Errorf("attention: q %v, k %v, v %v; want %v, %v, %v", in[0], in[1], in[2], q, kv, kv)
	}
	return in[0], nil
}

// check refuses settings that contradict one another.
func (o Attention) check() error {
	switch {
	case o.Heads <= 0 || o.KVHeads <= 0 || o.Heads%o.KVHeads != 0 || o.HeadDim <= 0:
		return fmt.Errorf("attention: %d heads of %d share %d key heads", o.Heads, o.HeadDim, o.KVHeads)
	case o.Window < 0 || o.Chunk < 0 || o.SoftCap < 0 || o.Bidirectional && o.Chunk > 0 || o.Window > 0 && o.Chunk > 0:
		return fmt.Errorf("attention: window %d, chunk %d, soft cap %g, bidirectional %v", o.Window, o.Chunk, o.SoftCap, o.Bidirectional)
	case o.Sinks != nil && !hasShape(o.Sinks, o.Heads):
		return fmt.Errorf("attention: sinks %s for %d heads", describe(o.Sinks), o.Heads)
	case o.Slopes != nil && len(o.Slopes) != o.Heads:
		return fmt.Errorf("attention: %d slopes for %d heads", len(o.Slopes), o.Heads)
	}
	return nil
}

func (o SharedAttention) Out(in ...Shape) (Shape, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Bidirectional || len(in[0]) != 2 || in[0][1] != o.Heads*o.HeadDim {
		return nil, fmt.Errorf("shared attention: q %v for %d heads of %d, bidirectional %v", in[0], o.Heads, o.HeadDim, o.Bidirectional)
	}
	return in[0], nil
}

func (o Experts) Out(in ...Shape) (Shape, error) {
	if o.Up == nil || len(o.Up.Shape) != 3 || o.Down == nil || len(o.Down.Shape) != 3 {
		return nil, fmt.Errorf("experts: weights must be stacks of matrices, got %s and %s", describe(o.Up), describe(o.Down))
	}
	n, ff, width, out := o.Up.Shape[0], o.Up.Shape[1], o.Up.Shape[2], o.Down.Shape[1]
	switch {
	case o.Gate == nil && !o.Act.alone():
		return nil, fmt.Errorf("experts: activation %v without a gate", o.Act)
	case o.Gate != nil && !o.Act.gates():
		return nil, fmt.Errorf("experts: activation %v with a gate", o.Act)
	case o.Gate != nil && !hasShape(o.Gate, n, ff, width) || !hasShape(o.Down, n, out, ff):
		return nil, fmt.Errorf("experts: %s, %s and %s do not fit", describe(o.Gate), describe(o.Up), describe(o.Down))
	case o.GateBias != nil && (o.Gate == nil || !hasShape(o.GateBias, n, ff)), o.UpBias != nil && !hasShape(o.UpBias, n, ff),
		o.DownBias != nil && !hasShape(o.DownBias, n, out):
		return nil, fmt.Errorf("experts: biases %s, %s and %s for %d experts of %d to %d", describe(o.GateBias), describe(o.UpBias), describe(o.DownBias), n, ff, out)
	case len(in[0]) != 2 || in[0][1] != width || !in[1].equal(Shape{in[0][0], n}):
		return nil, fmt.Errorf("experts: %s on input of shape %v routed by %v", describe(o.Up), in[0], in[1])
	}
	return Shape{in[0][0], out}, o.Routing.check(n)
}

func hasShape(t *weights.Tensor, shape ...int) bool {
	return t != nil && Shape(t.Shape).equal(shape)
}

func describe(t *weights.Tensor) string {
	if t == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %v", t.Name, t.Shape)
}
