package graph

import (
	"strings"
	"testing"

	"quern/formats/weights"
)

// recorders are those of this build: gorgonia and the list, or the list twice.
var recorders = []struct {
	name string
	new  func() recorder
}{
	{"default", newRecorder},
	{"inorder", func() recorder { return new(inorder) }},
}

// An unknownOp is an op that no backend has.
type unknownOp struct{ Add }

// Wrong recordings of every class. As many rows are wanted as there are, so that
// shapes alone would let what is of rows pass for what is of wanted rows.
func TestWrongRecordings(t *testing.T) {
	attend := Attention{Heads: 2, KVHeads: 2, HeadDim: 4}
	whole := Attention{Heads: 2, KVHeads: 2, HeadDim: 4, Bidirectional: true}
	cross := CrossAttention{Heads: 2, HeadDim: 4, Tokens: 3}
	other := NewBuilder(4, 4).Features(8)
	for _, tt := range []struct {
		name, of, why string
		build         func(b *Builder, x, taken Value) Value
	}{
		// Shapes.
		{"widths", "Linear w of float32 per row [4 8]", "linear: w [3 7] on input of shape [4 8]", func(b *Builder, x, _ Value) Value {
			return b.Linear(x, matrix("w", 3, 7), nil)
		}},
		{"two widths", "Add of float32 per row [4 8], float32 per row [4 6]", "add: shapes [4 8] and [4 6] differ", func(b *Builder, x, _ Value) Value {
			return b.Add(x, b.Linear(x, matrix("w", 6, 8), nil))
		}},

		// Types of numbers.
		{"numbers of tokens", "Linear w of int32 per row [4]", "it takes float32", func(b *Builder, _, _ Value) Value {
			return b.Linear(b.Tokens(), matrix("w", 3, 4), nil)
		}},
		{"tokens that are numbers", "Embed e of float32 per row [4 8]", "it takes int32 per row", func(b *Builder, x, _ Value) Value {
			return b.Embed(x, matrix("e", 5, 8))
		}},
		{"positions that are numbers", "Rope of float32 per row [4 8], float32 per row [4 8]", "it takes float32 of the same rows, int32 of the same rows", func(b *Builder, x, _ Value) Value {
			return b.Rope(x, x, Rope{HeadDim: 4, Freqs: []float64{1}})
		}},
		{"sum of tokens", "Add of int32 per row [4], int32 per row [4]", "it takes float32", func(b *Builder, _, _ Value) Value {
			return b.Add(b.Tokens(), b.Positions())
		}},
		{"scaled tokens", "Scale of int32 per row [4]", "it takes float32", func(b *Builder, _, _ Value) Value {
			return b.Scale(b.Tokens(), 2)
		}},

		// Rows and wanted rows.
		{"rows and wanted rows", "Add of float32 per row [4 8], float32 per wanted row [4 8]", "it takes float32 of the same rows, float32 of the same rows", func(b *Builder, x, taken Value) Value {
			return b.Add(x, taken)
		}},
		{"taken twice", "Take of float32 per wanted row [4 8], int32 per wanted row [4]", "it takes float32 per row, int32 per wanted row", func(b *Builder, _, taken Value) Value {
			return b.Take(taken, b.Wanted())
		}},
		{"rows by position", "Take of float32 per row [4 8], int32 per row [4]", "it takes float32 per row, int32 per wanted row", func(b *Builder, x, _ Value) Value {
			return b.Take(x, b.Positions())
		}},
		{"positions of wanted rows", "Rope of float32 per wanted row [4 8], int32 per row [4]", "it takes float32 of the same rows, int32 of the same rows", func(b *Builder, _, taken Value) Value {
			return b.Rope(taken, b.Positions(), Rope{HeadDim: 4, Freqs: []float64{1}})
		}},
		{"attention of wanted rows", "Attention layer 0 of float32 per wanted row [4 8], float32 per row [4 8]", "it takes float32 per row, float32 per row, float32 per row", func(b *Builder, x, taken Value) Value {
			return b.Attention(taken, x, x, attend)
		}},
		{"memory of wanted rows", "CrossAttention layer 0 of float32 per wanted row [4 8]", "it takes float32 per row", func(b *Builder, _, taken Value) Value {
			return b.CrossAttention(taken, cross)
		}},
		{"embedding of wanted rows' numbers", "Embed e of int32 per wanted row [4]", "it takes int32 per row", func(b *Builder, _, _ Value) Value {
			return b.Embed(b.Wanted(), matrix("e", 5, 8))
		}},

		// Values before and after their life.
		{"never recorded", "Add", "input 1 was never recorded", func(b *Builder, x, _ Value) Value {
			return b.Add(x, Value{})
		}},
		{"another recording's", "Add", "input 1 of shape [4 8] belongs to another recording", func(b *Builder, x, _ Value) Value {
			return b.Add(x, other)
		}},
		{"only another recording's", "Scale", "input 0 of shape [4 8] belongs to another recording", func(b *Builder, x, _ Value) Value {
			return b.Scale(other, 2)
		}},
		{"after Compile", "Scale", "recorded after Compile", func(b *Builder, x, _ Value) Value {
			if _, err := b.Compile(x); err != nil {
				return Value{}
			}
			return b.Scale(x, 2)
		}},

		// Ops with effects on one layer of the cache.
		{"a layer's keys twice", "Attention layer 0 of float32 per row [4 8]", "out of order: Attention layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			return b.Attention(b.Attention(x, x, x, attend), x, x, attend)
		}},
		{"keys under what attends to all", "Attention layer 0 of float32 per row [4 8]", "out of order: Attention layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			return b.Attention(b.Attention(x, x, x, whole), x, x, attend)
		}},
		{"keys over those of a sequence", "Attention layer 0 of float32 per row [4 8]", "out of order: Attention layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			return b.Attention(b.Attention(x, x, x, attend), x, x, whole)
		}},
		{"not in the chain of inputs", "Attention layer 0 of float32 per row [4 8]", "out of order: Attention layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			b.Attention(x, x, x, attend)
			return b.Attention(x, x, x, attend)
		}},
		{"memory stored twice", "Store layer 0 of float32 per row [4 8]", "out of order: Store layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			return b.Store(b.Store(x, x, x, 0), x, x, 0)
		}},
		{"memory over keys", "Store layer 0 of float32 per row [4 8]", "out of order: Attention layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			return b.Store(b.Attention(x, x, x, attend), x, x, 0)
		}},
		{"memory read before it is stored", "Store layer 0 of float32 per row [4 8]", "out of order: CrossAttention layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			return b.Store(b.CrossAttention(x, cross), x, x, 0)
		}},
		{"memory looked at before it is stored", "Store layer 0 of float32 per row [4 8]", "out of order: CrossScores layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			b.CrossScores(x, CrossScores{cross, []int{0}})
			return b.Store(x, x, x, 0)
		}},
		{"keys of another layer", "SharedAttention layer 1 of float32 per row [4 8]", "out of order: no attention before it", func(b *Builder, x, _ Value) Value {
			return b.SharedAttention(b.Attention(x, x, x, attend), SharedAttention{Attention{Layer: 1, Heads: 2, KVHeads: 2, HeadDim: 4}})
		}},
		{"keys of what attends to all", "SharedAttention layer 0 of float32 per row [4 8]", "out of order: Attention layer 0 comes before it", func(b *Builder, x, _ Value) Value {
			return b.SharedAttention(b.Attention(x, x, x, whole), SharedAttention{attend})
		}},

		// Ops.
		{"unknown op", "unknownOp of float32 per row [4 8], float32 per row [4 8]", "unknown op", func(b *Builder, x, _ Value) Value {
			return b.apply(unknownOp{}, x, x)
		}},
		{"no op", "<nil> of float32 per row [4 8]", "unknown op", func(b *Builder, x, _ Value) Value {
			return b.apply(nil, x)
		}},
		{"too few inputs", "Add of float32 per row [4 8]", "it takes float32 of the same rows, float32 of the same rows", func(b *Builder, x, _ Value) Value {
			return b.apply(Add{}, x)
		}},
		{"too many inputs", "Scale of float32 per row [4 8], float32 per row [4 8]", "it takes float32", func(b *Builder, x, _ Value) Value {
			return b.apply(Scale{2}, x, x)
		}},
		{"no weight", "LayerNorm of float32 per row [4 8]", "layernorm: nothing and nothing", func(b *Builder, x, _ Value) Value {
			return b.LayerNorm(x, nil, nil, 1)
		}},
	} {
		for _, r := range recorders {
			t.Run(tt.name+"/"+r.name, func(t *testing.T) {
				b := newBuilder(4, 4, r.new())
				x := b.Features(8)
				v := tt.build(b, x, b.Take(x, b.Wanted()))
				if v.Shape() != nil {
					t.Errorf("recorded as %v", v.Shape())
				}
				_, err := b.Compile(x)
				if err == nil || !strings.HasPrefix(err.Error(), "graph: "+tt.of) || !strings.Contains(err.Error(), tt.why) {
					t.Errorf("error %v, want one of %q about %q", err, tt.of, tt.why)
				}
			})
		}
	}
}

// What uses the cache and is not out of order.
func TestRightRecordings(t *testing.T) {
	attend := Attention{Heads: 2, KVHeads: 2, HeadDim: 4}
	whole := Attention{Heads: 2, KVHeads: 2, HeadDim: 4, Bidirectional: true}
	cross := CrossAttention{Heads: 2, HeadDim: 4, Tokens: 3}
	for _, tt := range []struct {
		name, steps string
		build       func(b *Builder, x Value) Value
	}{
		{"layers that share", "Attention layer 0, Attention layer 0", func(b *Builder, x Value) Value {
			return b.Attention(b.Attention(x, x, x, whole), x, x, whole)
		}},
		// The second takes nothing of the first's result, and yet comes after.
		{"layers that share and no value", "Attention layer 0, Attention layer 0", func(b *Builder, x Value) Value {
			b.Attention(x, x, x, whole)
			return b.Attention(x, x, x, whole)
		}},
		{"a decoder's layer", "Attention layer 0, CrossScores layer 0, CrossAttention layer 0, Add", func(b *Builder, x Value) Value {
			x = b.Attention(x, x, x, attend)
			s := b.CrossScores(x, CrossScores{cross, []int{0}})
			return b.Add(b.CrossAttention(x, cross), b.Linear(s, matrix("w", 8, 3), nil))
		}},
		{"memory first", "CrossAttention layer 0, Attention layer 0", func(b *Builder, x Value) Value {
			return b.Attention(b.CrossAttention(x, cross), x, x, attend)
		}},
		// What reads a memory needs its writing, though not the value of Store.
		{"memory of the same pass", "Store layer 0, CrossAttention layer 0", func(b *Builder, x Value) Value {
			b.Store(x, x, x, 0)
			return b.CrossAttention(x, cross)
		}},
		{"other layers", "Attention layer 0, Store layer 1", func(b *Builder, x Value) Value {
			return b.Store(b.Attention(x, x, x, attend), x, x, 1)
		}},
	} {
		for _, r := range recorders {
			t.Run(tt.name+"/"+r.name, func(t *testing.T) {
				b := newBuilder(4, 1, r.new())
				p, err := b.Compile(tt.build(b, b.Features(8)))
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, s := range p.Steps {
					if _, ok := s.Op.(Linear); !ok {
						names = append(names, opName(s.Op))
					}
				}
				if got := strings.Join(names, ", "); got != tt.steps {
					t.Errorf("steps are %s, want %s", got, tt.steps)
				}
			})
		}
	}
}

func TestResultsOfOthers(t *testing.T) {
	for _, r := range recorders {
		b, c := newBuilder(4, 4, r.new()), newBuilder(4, 4, r.new())
		x, y := b.Features(8), c.Features(8)
		for _, tt := range []struct {
			v    Value
			want string
		}{
			{y, "result 1 of shape [4 8] belongs to another recording"},
			{Value{}, "result 1 was never recorded"},
		} {
			if _, err := b.Compile(x, tt.v); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: error %v, want %q", r.name, err, tt.want)
			}
		}
		if _, err := b.Compile(x); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// The name of an op is asked for when it is wrong, too.
func TestNamesOfBareOps(t *testing.T) {
	for _, op := range Ops() {
		if name := opName(op); name == "" || strings.Contains(name, ".") {
			t.Errorf("%T is called %q", op, name)
		}
	}
	if got := opName(Linear{Weight: &weights.Tensor{Name: "w"}}); got != "Linear w" {
		t.Errorf("got %q", got)
	}
}
