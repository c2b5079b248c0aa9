package graph

import (
	"fmt"

	"quern/formats/weights"
)

// Ops that carry a state from one row of a sequence to the next, beside the cache of keys
// and values. All states of a sequence lie in one vector of float32, its slot
// (Batch.States); an op's own begins at At. A row at position 0 begins with zeros. The rows
// of a sequence in a batch follow one another without a gap.
type (
	// ShortConv is a causal convolution of each channel by itself, then SiLU if Act.
	// Its state is the inputs of the rows before, taps - 1 of them.
	// Inputs: x (rows, channels). Result: the same shape.
	ShortConv struct {
		Weight, Bias *weights.Tensor // (channels, taps), (channels) or nil
		Act          bool
		At           int
	}

	// Mamba2 is the scan of Mamba-2. Heads share b and c by groups, in order. A step's
	// length is softplus(dt + DtBias). Its state is (heads, head, state).
	// Inputs: x|b|c (rows, heads·head + 2·Groups·State), dt (rows, heads).
	// Result: (rows, heads·head). Dao & Gu, "Transformers are SSMs", 2024.
	Mamba2 struct {
		A, D, DtBias        *weights.Tensor // (heads), A negative
		Head, Groups, State int             // values of a head and of its b and c
		At                  int
	}

	// Mamba1 is the scan of Mamba. A step's length is softplus(dt). Its state is (width,
	// State). Inputs: x (rows, width), dt (rows, width), b (rows, State), c (rows, State).
	// Result: (rows, width). Gu & Dao, "Mamba", 2023.
	Mamba1 struct {
		A, D *weights.Tensor // (width, State), negative; (width)
		At   int
	}

	// DeltaNet is a gated delta net. Queries and keys are scaled to length 1, queries also
	// by 1/√Key. A row forgets by A·softplus(alpha + DtBias) and learns by sigmoid(beta).
	// Its state is (Heads, Key, Value).
	// Inputs: q|k|v (rows, 2·KeyHeads·Key + Heads·Value), beta and alpha (rows, Heads).
	// Result: (rows, Heads·Value). Yang, Kautz & Hatamizadeh, "Gated Delta Networks", 2024.
	DeltaNet struct {
		A, DtBias       *weights.Tensor // (Heads), A negative
		Heads, KeyHeads int
		Key, Value      int  // widths of a head
		Tiled           bool // head h has key head h mod KeyHeads, else h / (Heads/KeyHeads)
		At              int
	}

	// TokenShift mixes a row x with the row before it, p: x + (p − x)·m for each row m of Mix,
	// one behind the other. Its state is the row before.
	// Inputs: x (rows, width). Result: (rows, n·width). Peng et al., "RWKV", 2023, §3.1.
	TokenShift struct {
		Mix *weights.Tensor // (n, width)
		At  int
	}

	// WKV7 is the memory of RWKV-7. Within each head, in the paper's letters: the decay is
	// exp(−e^−½·σ(w)), the rate a becomes σ(a), κ is k⊙Key scaled to length 1, and k becomes
	// k⊙(1 + (a − 1)⊙Rate). The state's result is normed and shifted within the head, and
	// (Σ r⊙k⊙Bonus)·v is added. Its state is (heads, Head, Head).
	// Inputs: r, w, k, v, a (rows, width). Result: the same shape.
	// Peng et al., "RWKV-7 'Goose' with Expressive Dynamic State Evolution", 2025, §4.
	WKV7 struct {
		Key, Rate, Bonus *weights.Tensor // (width)
		Norm, Shift      *weights.Tensor // (width)
		Eps              float32
		Head             int // width of a head
		At               int
	}
)

func (o ShortConv) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 2 || o.Weight.Shape[1] < 2 || o.Bias != nil && o.Bias.Elems() != o.Weight.Shape[0] {
		return nil, fmt.Errorf("shortconv: weights %s, bias %s", describe(o.Weight), describe(o.Bias))
	}
	if len(in[0]) != 2 || in[0][1] != o.Weight.Shape[0] || o.At < 0 {
		return nil, fmt.Errorf("shortconv: %s on rows of shape %v", describe(o.Weight), in[0])
	}
	return in[0], nil
}

func (o Mamba2) Out(in ...Shape) (Shape, error) {
	if o.A == nil || o.D == nil || o.DtBias == nil || o.D.Elems() != o.A.Elems() || o.DtBias.Elems() != o.A.Elems() {
		return nil, fmt.Errorf("mamba2: %s, %s and %s", describe(o.A), describe(o.D), describe(o.DtBias))
	}
	heads := o.A.Elems()
	if o.Head < 1 || o.State < 1 || o.Groups < 1 || heads%o.Groups != 0 || o.At < 0 {
		return nil, fmt.Errorf("mamba2: %d heads of %d in %d groups, a state of %d", heads, o.Head, o.Groups, o.State)
	}
	if len(in[0]) != 2 || in[0][1] != heads*o.Head+2*o.Groups*o.State || !in[1].equal(Shape{in[0][0], heads}) {
		return nil, fmt.Errorf("mamba2: %d heads of %d with %d groups of %d from rows %v and steps %v", heads, o.Head, o.Groups, o.State, in[0], in[1])
	}
	return Shape{in[0][0], heads * o.Head}, nil
}

func (o Mamba1) Out(in ...Shape) (Shape, error) {
	if o.A == nil || len(o.A.Shape) != 2 || !hasShape(o.D, o.A.Shape[0]) || o.At < 0 {
		return nil, fmt.Errorf("mamba1: %s and %s", describe(o.A), describe(o.D))
	}
	if len(in[0]) != 2 || in[0][1] != o.A.Shape[0] || !in[1].equal(in[0]) || !in[2].equal(Shape{in[0][0], o.A.Shape[1]}) || !in[3].equal(in[2]) {
		return nil, fmt.Errorf("mamba1: %s on %v, steps %v, b %v, c %v", describe(o.A), in[0], in[1], in[2], in[3])
	}
	return in[0], nil
}

func (o DeltaNet) Out(in ...Shape) (Shape, error) {
	if !hasShape(o.A, o.Heads) || !hasShape(o.DtBias, o.Heads) {
		return nil, fmt.Errorf("deltanet: %s and %s for %d heads", describe(o.A), describe(o.DtBias), o.Heads)
	}
	if o.Heads < 1 || o.KeyHeads < 1 || o.Heads%o.KeyHeads != 0 || o.Key < 1 || o.Value < 1 || o.At < 0 {
		return nil, fmt.Errorf("deltanet: %d heads of %d share %d key heads of %d", o.Heads, o.Value, o.KeyHeads, o.Key)
	}
	if len(in[0]) != 2 || in[0][1] != 2*o.KeyHeads*o.Key+o.Heads*o.Value || !in[1].equal(Shape{in[0][0], o.Heads}) || !in[2].equal(in[1]) {
		return nil, fmt.Errorf("deltanet: %d heads of %d and %d key heads of %d from rows %v, beta %v, alpha %v", o.Heads, o.Value, o.KeyHeads, o.Key, in[0], in[1], in[2])
	}
	return Shape{in[0][0], o.Heads * o.Value}, nil
}

func (o TokenShift) Out(in ...Shape) (Shape, error) {
	if o.Mix == nil || len(o.Mix.Shape) != 2 || len(in[0]) != 2 || in[0][1] != o.Mix.Shape[1] || o.At < 0 {
		return nil, fmt.Errorf("tokenshift: %s of rows %v", describe(o.Mix), in[0])
	}
	return Shape{in[0][0], o.Mix.Elems()}, nil
}

func (o WKV7) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || o.Head < 1 || in[0][1]%o.Head != 0 || o.At < 0 {
		return nil, fmt.Errorf("wkv7: heads of %d in rows %v", o.Head, in[0])
	}
	for _, t := range []*weights.Tensor{o.Key, o.Rate, o.Bonus, o.Norm, o.Shift} {
		if !hasShape(t, in[0][1]) {
			return nil, fmt.Errorf("wkv7: %s for rows %v", describe(t), in[0])
		}
	}
	for _, s := range in[1:] {
		if !s.equal(in[0]) {
			return nil, fmt.Errorf("wkv7: rows %v beside %v", s, in[0])
		}
	}
	return in[0], nil
}

func (b *Builder) TokenShift(x Value, o TokenShift) Value { return b.apply(o, x) }

func (b *Builder) WKV7(r, w, k, v, a Value, o WKV7) Value { return b.apply(o, r, w, k, v, a) }

func (b *Builder) ShortConv(x Value, o ShortConv) Value { return b.apply(o, x) }

func (b *Builder) Mamba2(xbc, dt Value, o Mamba2) Value { return b.apply(o, xbc, dt) }

func (b *Builder) Mamba1(x, dt, bs, cs Value, o Mamba1) Value { return b.apply(o, x, dt, bs, cs) }

func (b *Builder) DeltaNet(qkv, beta, alpha Value, o DeltaNet) Value {
	return b.apply(o, qkv, beta, alpha)
}

// StateOf returns where the state of an op lies in a sequence's, for ops that have one.
func StateOf(op Op) (from, to int, ok bool) {
	switch o := op.(type) {
	case ShortConv:
		return o.At, o.At + o.Weight.Shape[0]*(o.Weight.Shape[1]-1), true
	case Mamba2:
		return o.At, o.At + o.State*o.Head*o.A.Elems(), true
	case Mamba1:
		return o.At, o.At + o.A.Elems(), true
	case DeltaNet:
		return o.At, o.At + o.Heads*o.Key*o.Value, true
	case TokenShift:
		return o.At, o.At + o.Mix.Shape[1], true
	case WKV7:
		return o.At, o.At + o.Norm.Shape[0]*o.Head, true
	}
	return 0, 0, false
}
