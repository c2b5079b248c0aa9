package onnx_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

func texts(shape []int, v ...string) *run.Tensor { return run.NewStrings(shape, v) }

func stringsAttr(name string, v ...string) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrStrings, Strings: v}
}

func floatsAttr(name string, v ...float32) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrFloats, Floats: v}
}

func tensorAttr(name string, t *run.Tensor) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrTensor, T: t.ToFile(name)}
}

// learned makes a node of ai.onnx.ml.
func learned(n *onnx.Node) *onnx.Node {
	n.Domain = "ai.onnx.ml"
	return n
}

func TestText(t *testing.T) {
	words := texts([]int{4}, "Monday", "the", "THE", "Übung")
	for _, tt := range []struct {
		name  string
		node  *onnx.Node
		in    []*run.Tensor
		shape []int
		want  []string
		err   error
	}{
		{"lower", node("StringNormalizer", "a", "y", textAttr("case_change_action", "LOWER")), []*run.Tensor{words}, []int{4}, []string{"monday", "the", "the", "übung"}, nil},
		{"stop words", node("StringNormalizer", "a", "y", stringsAttr("stopwords", "the")), []*run.Tensor{words}, []int{2}, []string{"Monday", "Übung"}, nil},
		{"stop words in one case", node("StringNormalizer", "a", "y", stringsAttr("stopwords", "the"), intAttr("is_case_sensitive", 1)), []*run.Tensor{words}, []int{3}, []string{"Monday", "THE", "Übung"}, nil},
		{"none left", node("StringNormalizer", "a", "y", stringsAttr("stopwords", "x")), []*run.Tensor{texts([]int{1, 1}, "x")}, []int{1, 1}, []string{""}, nil},
		{"case of no kind", node("StringNormalizer", "a", "y", textAttr("case_change_action", "TITLE")), []*run.Tensor{words}, nil, nil, onnx.ErrFormat},
		{"joined", node("StringConcat", "a b", "y"), []*run.Tensor{texts([]int{2, 1}, "a", "b"), texts([]int{2}, "x", "")}, []int{2, 2}, []string{"ax", "a", "bx", "b"}, nil},
		{"split", node("StringSplit", "a", "y", textAttr("delimiter", ",")), []*run.Tensor{texts([]int{2}, "a,,b", "c")}, []int{2, 3}, []string{"a", "", "b", "c", "", ""}, nil},
		{"split once", node("StringSplit", "a", "y", textAttr("delimiter", ","), intAttr("maxsplit", 1)), []*run.Tensor{texts([]int{1}, "a,b,c")}, []int{1, 2}, []string{"a", "b,c"}, nil},
		{"split at blanks", node("StringSplit", "a", "y", intAttr("maxsplit", 1)), []*run.Tensor{texts([]int{2}, "  a  b c ", "")}, []int{2, 2}, []string{"a", "b c ", "", ""}, nil},
		{"numbers split", node("StringSplit", "a", "y"), []*run.Tensor{counted(2)}, nil, nil, onnx.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := runNode(t, tt.node, run.Options{}, tt.in...)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && (!slices.Equal(got.S, tt.want) || !slices.Equal(got.Shape, tt.shape)) {
				t.Errorf("%q of shape %d, want %q of %d", got.S, got.Shape, tt.want, tt.shape)
			}
		})
	}
}

func TestLearned(t *testing.T) {
	one := func(in ...*run.Tensor) []*run.Tensor { return in }
	mails := texts([]int{3}, "a@b.de", "a@b", "a@b.de x")
	grams := []*onnx.Attr{
		listAttr("ngram_counts", 0, 2), listAttr("ngram_indexes", 1, 0, 2), listAttr("pool_int64s", 7, 8, 7, 8),
		intAttr("min_gram_length", 1), intAttr("max_gram_length", 2), textAttr("mode", "TF"),
	}
	// Two levels: x0 <= 1 ? (x1 > 5 ? leaf 0 : leaf 1) : leaf 2.
	tree := func(roots ...int64) []*onnx.Attr {
		return []*onnx.Attr{
			listAttr("nodes_featureids", 0, 1), tensorAttr("nodes_splits", floats([]int{2}, 1, 5)), tensorAttr("nodes_modes", convert(t, list64(0, 3), onnx.Uint8)),
			listAttr("nodes_truenodeids", 1, 0), listAttr("nodes_trueleafs", 0, 1), listAttr("nodes_falsenodeids", 2, 1), listAttr("nodes_falseleafs", 1, 1),
			listAttr("leaf_targetids", 0, 1, 1), tensorAttr("leaf_weights", floats([]int{3}, 10, 20, 30)), intAttr("n_targets", 2), listAttr("tree_roots", roots...),
		}
	}
	rows := floats([]int{3, 2}, 0, 6, 0, 5, 2, 0)
	ring := tree(0)
	ring[4] = listAttr("nodes_trueleafs", 0, 0)
	checkNodes(t, []nodeCase{
		{"matches", node("RegexFullMatch", "a", "y", textAttr("pattern", `\w+@\w+\.de`)), one(mails), []int{3}, []float64{1, 0, 0}, nil},
		{"no expression", node("RegexFullMatch", "a", "y", textAttr("pattern", "(")), one(mails), nil, nil, onnx.ErrFormat},
		{"grams", node("TfIdfVectorizer", "a", "y", grams...), one(list64(7, 8, 7)), []int{3}, []float64{1, 2, 1}, nil},
		{"grams with gaps", node("TfIdfVectorizer", "a", "y", append(grams, intAttr("max_skip_count", 1))...), one(list64(7, 9, 8)), []int{3}, []float64{1, 1, 1}, nil},
		{"words", node("TfIdfVectorizer", "a", "y", listAttr("ngram_counts", 0), listAttr("ngram_indexes", 0, 1), stringsAttr("pool_strings", "a", "b"), floatsAttr("weights", 2, 3), textAttr("mode", "TFIDF")),
			one(texts([]int{2, 2}, "a", "a", "b", "c")), []int{2, 2}, []float64{4, 0, 0, 3}, nil},
		{"labels", learned(node("LabelEncoder", "a", "y", stringsAttr("keys_strings", "a", "b"), listAttr("values_int64s", 5, 6))), one(texts([]int{3}, "b", "a", "c")), []int{3}, []float64{6, 5, -1}, nil},
		{"labels of numbers", learned(node("LabelEncoder", "a", "y", floatsAttr("keys_floats", 1, float32(math.NaN())), floatsAttr("values_floats", 2, 3), &onnx.Attr{Name: "default_float", F: 9})),
			one(floats([]int{3}, 1, float32(math.NaN()), 4)), []int{3}, []float64{2, 3, 9}, nil},
		{"labels without values", learned(node("LabelEncoder", "a", "y", stringsAttr("keys_strings", "a"))), one(texts([]int{1}, "b")), nil, nil, onnx.ErrFormat},
		{"above", learned(node("Binarizer", "a", "y", &onnx.Attr{Name: "threshold", F: 1})), one(counted(3)), []int{3}, []float64{0, 0, 1}, nil},
		{"scaled", learned(node("Scaler", "a", "y", floatsAttr("offset", 1), floatsAttr("scale", 2, 3))), one(counted(2, 2)), []int{2, 2}, []float64{-2, 0, 2, 6}, nil},
		{"normal", learned(node("Normalizer", "a", "y", textAttr("norm", "L2"))), one(floats([]int{2, 2}, 3, 4, 0, 0)), []int{2, 2}, []float64{0.6, 0.8, 0, 0}, nil},
		{"linear", learned(node("LinearRegressor", "a", "y", floatsAttr("coefficients", 1, 2, 3, 4), floatsAttr("intercepts", 10, 20), intAttr("targets", 2))), one(counted(2, 2)), []int{2, 2}, []float64{12, 24, 18, 38}, nil},
		{"chosen", learned(node("ArrayFeatureExtractor", "a b", "y")), one(counted(2, 3), list64(2, 0)), []int{2, 2}, []float64{2, 0, 5, 3}, nil},
		{"tree", learned(node("TreeEnsemble", "a", "y", tree(0)...)), one(rows), []int{3, 2}, []float64{10, 0, 0, 20, 0, 30}, nil},
		{"trees", learned(node("TreeEnsemble", "a", "y", append(tree(0, 1), intAttr("aggregate_function", 0))...)), one(rows), []int{3, 2}, []float64{10, 0, 0, 20, 0, 25}, nil},
		{"a ring", learned(node("TreeEnsemble", "a", "y", ring...)), one(floats([]int{1, 2}, 0, 6)), nil, nil, onnx.ErrFormat},
		{"no such feature", learned(node("TreeEnsemble", "a", "y", tree(0)...)), one(counted(3, 1)), nil, nil, onnx.ErrFormat},
	})
}

// TestStringsStay checks that strings of a caller are not changed.
func TestStringsStay(t *testing.T) {
	x := texts([]int{1}, "A")
	s := newSession(t, &onnx.Graph{
		Nodes:  []*onnx.Node{node("StringNormalizer", "a", "y", textAttr("case_change_action", "LOWER"))},
		Inputs: []onnx.Value{{Name: "a", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.String}}}, Outputs: anything("y"),
	}, run.Options{})
	if _, err := s.Run(context.Background(), map[string]*run.Tensor{"a": x}); err != nil {
		t.Fatal(err)
	}
	if x.S[0] != "A" {
		t.Errorf("the input is %q now", x.S[0])
	}
}
