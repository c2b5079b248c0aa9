package graph

import (
	"errors"
	"fmt"

	"quern/formats/weights"
)

// A Value is the result of a recorded op, or an input of the Program. The zero
// Value is what every method returns after an error.
type Value struct {
	rec   recorder
	n     handle
	kind  kind
	shape Shape
}

// Shape returns the value's shape, nil after an error.
func (v Value) Shape() Shape { return v.shape }

// A Builder records ops. Its first error sticks and Compile returns it, so
// models need no error handling.
type Builder struct {
	rec        recorder
	rows, want int
	uses       map[int][]recordedUse // by layer of the cache
	changes    Changes
	compiled   bool
	err        error

	tokens, positions, wanted, wantedPositions, features, given Value
}

// A recorder infers types and shapes of recorded nodes and keeps them. The default
// build does both with gorgonia; see exprgraph.go and inorder.go.
type recorder interface {
	input(name string, k kind, s Shape) Value
	apply(c call) (Value, error)
	// sorted returns everything recorded in an order of execution.
	sorted() ([]recorded, error)
	// dot renders the recording for Graphviz.
	dot() ([]byte, error)
}

// A handle is the place of a node in recording order.
type handle int

// A recorded node is an input (op nil) or an op applied to earlier nodes.
type recorded struct {
	Value
	name   string // of an input
	op     Op
	in     []handle // the op's inputs, then the ops that have to come before it
	inputs int
}

// NewBuilder starts the recording of a pass over at most rows rows, of which
// the results of at most want are read.
func NewBuilder(rows, want int) *Builder {
	return newBuilder(rows, want, newRecorder())
}

func newBuilder(rows, want int, rec recorder) *Builder {
	if rows < 1 || want < 1 {
		panic(fmt.Sprintf("graph: a pass over %d rows with %d wanted", rows, want))
	}
	return &Builder{rec: rec, rows: rows, want: want, uses: make(map[int][]recordedUse)}
}

// Names of the inputs of a batch.
const (
	inTokens          = "tokens"
	inPositions       = "positions"
	inWanted          = "wanted"
	inWantedPositions = "wanted positions"
	inFeatures        = "features"
	inGiven           = "given"
)

func (b *Builder) input(v *Value, name string, k kind, s ...int) Value {
	if v.shape == nil {
		*v = b.rec.input(name, k, s)
	}
	return *v
}

// Tokens is the batch's token ids, (rows).
func (b *Builder) Tokens() Value { return b.input(&b.tokens, inTokens, rowIDs, b.rows) }

// Positions is each row's place in its sequence, (rows).
func (b *Builder) Positions() Value { return b.input(&b.positions, inPositions, rowIDs, b.rows) }

// Wanted is the numbers of the rows whose results are read, (want).
func (b *Builder) Wanted() Value { return b.input(&b.wanted, inWanted, wantIDs, b.want) }

// WantedPositions is the places of the wanted rows in their sequences, (want).
func (b *Builder) WantedPositions() Value {
	return b.input(&b.wantedPositions, inWantedPositions, wantIDs, b.want)
}

// Features is numbers that a batch has instead of tokens, (rows, width). A Program
// that has them is an encoder: it is run seldom and over many rows at once, and
// a backend may do work per weight, such as decoding it, that pays off over rows.
func (b *Builder) Features(width int) Value { return b.numbers(&b.features, inFeatures, width) }

// Given is numbers that a batch has beside its tokens, in Batch.Features, (rows, width). A Program
// that has them decodes like one without.
func (b *Builder) Given(width int) Value { return b.numbers(&b.given, inGiven, width) }

func (b *Builder) numbers(v *Value, name string, width int) Value {
	x := b.input(v, name, perRow, b.rows, width)
	if x.shape[1] != width {
		return b.fail(fmt.Errorf("%s of %d and of %d", name, x.shape[1], width))
	}
	if b.features.shape != nil && b.given.shape != nil {
		return b.fail(errors.New("features and given numbers in one program"))
	}
	return x
}

func (b *Builder) apply(op Op, in ...Value) Value {
	if b.err != nil {
		return Value{}
	}
	if b.compiled {
		return b.fail(fmt.Errorf("%s: recorded after Compile", opName(op)))
	}
	for i, v := range in {
		if err := b.owns(v); err != nil {
			return b.fail(fmt.Errorf("%s: input %d %w", opName(op), i, err))
		}
	}
	c := call{op: op, in: in}
	layer, _, cached := cacheUse(op)
	if cached {
		c.before = b.uses[layer]
	}
	v, err := b.rec.apply(c)
	if err != nil {
		return b.fail(c.explain(err))
	}
	if cached {
		b.uses[layer] = append(b.uses[layer], recordedUse{op, v})
	}
	return v
}

// owns checks that v was recorded in b.
func (b *Builder) owns(v Value) error {
	switch v.rec {
	case b.rec:
		return nil
	case nil:
		return errors.New("was never recorded")
	}
	return fmt.Errorf("of shape %v belongs to another recording", v.shape)
}

func (b *Builder) fail(err error) Value {
	b.err = err
	return Value{}
}

// Fail makes err the Builder's error unless it has one already. Models use it
// for weights that are missing.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// The recording methods; the ops of the same names say what they compute.

func (b *Builder) Embed(tokens Value, w *weights.Tensor) Value {
	if c := b.changes.Embed[w]; c != nil {
		return b.apply(AdaptedEmbed{Embed{Weight: w}, c}, tokens)
	}
	return b.apply(Embed{Weight: w}, tokens)
}

// EmbedSome is Embed for tokens up to vocab, of which the last may have no row: theirs are zeros.
func (b *Builder) EmbedSome(tokens Value, w *weights.Tensor, vocab int) Value {
	if w == nil || len(w.Shape) != 2 || w.Shape[0] >= vocab {
		return b.Embed(tokens, w)
	}
	return b.apply(Embed{w, true}, tokens)
}

func (b *Builder) Take(x, rows Value) Value { return b.apply(Take{}, x, rows) }

func (b *Builder) RMSNorm(x Value, w *weights.Tensor, eps float32) Value {
	return b.apply(RMSNorm{w, eps}, x)
}

func (b *Builder) LayerNorm(x Value, w, bias *weights.Tensor, eps float32) Value {
	return b.apply(LayerNorm{w, bias, eps}, x)
}

func (b *Builder) Linear(x Value, w, bias *weights.Tensor) Value {
	if c := b.changes.Linear[w]; c != nil {
		return b.apply(AdaptedLinear{Linear{w, bias}, c}, x)
	}
	return b.apply(Linear{w, bias}, x)
}

func (b *Builder) Bias(x Value, v *weights.Tensor) Value { return b.apply(Bias{v}, x) }

func (b *Builder) Add(x, y Value) Value { return b.apply(Add{}, x, y) }

func (b *Builder) Scale(x Value, by float32) Value { return b.apply(Scale{by}, x) }

func (b *Builder) Temper(x, positions Value, o Temper) Value { return b.apply(o, x, positions) }

func (b *Builder) SoftCap(x Value, limit float32) Value { return b.apply(SoftCap{limit}, x) }

func (b *Builder) Clamp(x Value, limit float32) Value { return b.apply(Clamp{limit}, x) }

func (b *Builder) XIELU(x Value, o XIELU) Value { return b.apply(o, x) }

func (b *Builder) Activate(x Value, act Act) Value { return b.apply(Activate{act}, x) }

func (b *Builder) Gate(gate, up Value, act Act) Value { return b.apply(Gate{act}, gate, up) }

func (b *Builder) Weigh(x, weight Value) Value { return b.apply(Weigh{}, x, weight) }

func (b *Builder) Rope(x, positions Value, o Rope) Value { return b.apply(o, x, positions) }

func (b *Builder) Attention(q, k, v Value, o Attention) Value { return b.apply(o, q, k, v) }

func (b *Builder) SharedAttention(q Value, o SharedAttention) Value { return b.apply(o, q) }

func (b *Builder) Experts(x, router Value, o Experts) Value {
	a := AdaptedExperts{o, b.changes.Linear[o.Gate], b.changes.Linear[o.Up], b.changes.Linear[o.Down]}
	if a.adapters() > 0 {
		return b.apply(a, x, router)
	}
	return b.apply(o, x, router)
}

// Dot renders the recording as Graphviz.
func (b *Builder) Dot() ([]byte, error) {
	if b.err != nil {
		return nil, fmt.Errorf("graph: %w", b.err)
	}
	return b.rec.dot()
}
