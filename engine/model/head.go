package model

import (
	"fmt"
	"slices"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A Projector is an LM with layers behind the pooling.
type Projector interface {
	// Project records what becomes of pooled rows, shape (rows, Config.Hidden): shape
	// (rows, Config.Vector).
	Project(b *graph.Builder, pooled graph.Value) graph.Value
}

// SecondTexts is the key of a BERT that scores pairs of texts, the tokens of whose second
// text have another row added to their embedding than those of the first: they are a
// second half of the table of embeddings. No GGUF file has it: it is made, with that half, when one
// is opened.
const SecondTexts = "bert." + secondTexts

const secondTexts = "second_texts"

// headed is a model with a head: the layers that sentence-transformers put behind the
// pooling, or those that make numbers of it: one, the score of a pair of texts, or one for
// each label of a classifier.
type headed struct {
	LM
	layers []headLayer
}

type headLayer struct {
	linear
	act  string
	norm norm // empty for none
}

// headActs are the activations of heads.
var headActs = map[string]func(b *graph.Builder, x graph.Value) graph.Value{
	"identity": func(_ *graph.Builder, x graph.Value) graph.Value { return x },
	"tanh":     func(b *graph.Builder, x graph.Value) graph.Value { return b.SoftCap(x, 1) }, // 1·tanh(x/1)
	"gelu":     func(b *graph.Builder, x graph.Value) graph.Value { return b.Activate(x, graph.GELU) },
}

func (m *headed) Project(b *graph.Builder, x graph.Value) graph.Value {
	for _, l := range m.layers {
		x = headActs[l.act](b, l.of(b, x))
		if l.norm.w != nil {
			x = l.norm.layer(b, x, m.Config().Eps)
		}
	}
	return x
}

// withHead adds the head that a file has to its model.
func withHead(f *file, lm LM) (LM, error) {
	c := lm.Config()
	r, t := &reader{file: f}, &tensors{set: f}
	m := &headed{LM: lm}
	if c.Pooling == PoolRank {
		m.scores(r, t)
	} else {
		m.dense(r, t)
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case t.err != nil:
		return nil, t.err
	case m.layers == nil:
		return lm, nil
	}
	c.Vector = m.layers[len(m.layers)-1].w.Shape[0]
	return m, nil
}

// dense finds the layers of sentence-transformers, which are numbered as its folders.
// GGUF files have at most two, without biases and activations.
//
// Reimers & Gurevych, "Sentence-BERT", 2019, and its published code: models/Dense.py.
func (m *headed) dense(r *reader, t *tensors) {
	in := m.Config().Hidden
	for _, name := range []string{"dense_2", "dense_3"} {
		if r.upTo(name+"_feat_in", maxWidth) == 0 {
			continue
		}
		if n := r.count(name+"_feat_in", maxWidth); n != in {
			r.fail(name+"_feat_in", "is %d for vectors of %d", n, in)
			return
		}
		out := r.count(name+"_feat_out", maxWidth)
		l := headLayer{linear: t.linear(name, out, in), act: r.oneOf(name+"_activation", "identity", "identity", "tanh")}
		if r.err != nil || t.err != nil {
			return
		}
		m.layers, in = append(m.layers, l), out
	}
}

// scorers are the architectures that may score pairs of texts, or classify texts: which rows of a text they
// pool, and what comes between that and the score.
//
// Devlin et al., "BERT", 2019, §4; the layer before the score is that of the published
// code. ModernBERT's GGUF files have the mean; Hugging Face's say which.
var scorers = map[string]struct {
	pool   Pooling
	act    string // of the layer before the score; "" without one
	normed bool   // it has a norm
}{
	"bert":         {pool: PoolCLS, act: "tanh"},
	"jina-bert-v2": {pool: PoolCLS, act: "tanh"},
	"modern-bert":  {pool: PoolMean, act: "gelu", normed: true},
	"qwen3":        {pool: PoolLast},
}

// scores finds the head of a model that scores pairs, or classifies.
func (m *headed) scores(r *reader, t *tensors) {
	c := m.Config()
	t.set.scores = true
	s, ok := scorers[c.Arch]
	if !ok {
		r.refuse("pooling_type", "is %d: quern scores and classifies texts with models of other architectures", PoolRank)
		return
	}
	c.Pooling, c.Pairs = s.pool, true
	if c.Arch == "modern-bert" && r.oneOf("classifier_pooling", "mean", "mean", "cls") == "cls" {
		c.Pooling = PoolCLS
	}
	if c.Arch == "bert" && r.flag(secondTexts, false) {
		c.Vocab /= 2
		c.Second = c.Vocab
	}
	if _, ok := t.set.Tensor("cls.weight"); s.act != "" && !ok {
		t.err = fmt.Errorf("%w: a %s that scores texts without cls.weight, the layer before the score; some converters leave it out: use the model's SafeTensors", ErrUnsupported, c.Arch)
		return
	}
	if s.act != "" {
		l := headLayer{linear: t.linear("cls", c.Hidden, c.Hidden), act: s.act}
		if s.normed {
			l.norm = t.norm("cls.norm", c.Hidden)
		}
		m.layers = append(m.layers, l)
	}
	n := 1
	if out, ok := t.set.Tensor("cls.output.weight"); ok && len(out.Shape) == 2 && out.Shape[1] == c.Hidden {
		n = out.Shape[0]
	}
	labels := r.labels(n)
	if n == 2 && c.Arch == "qwen3" {
		switch {
		case labels == nil || slices.Equal(labels, yesNo):
			m.layers = append(m.layers, headLayer{linear: linear{w: t.yesNo(c.Hidden)}, act: "identity"})
			return
		case slices.Equal(labels, []string{yesNo[1], yesNo[0]}):
			r.refuse("classifier.output_labels", "is %v, want %v", labels, yesNo) // a reranker, and its prompt, the other way round
		}
	}
	if n > 1 {
		c.Pairs, c.Labels = false, Labels(labels, n)
		c.Many = r.oneOf("classifier.problem_type", single, single, many) == many
	}
	m.layers = append(m.layers, headLayer{linear: t.linear("cls.output", n, c.Hidden), act: "identity"})
}

// What the labels of a classifier are to a text.
const (
	single = "single_label_classification"
	many   = "multi_label_classification"
)

// labels reads what n numbers are the logits of, nil where the file does not say.
func (r *reader) labels(n int) []string {
	v, ok := r.value("classifier.output_labels")
	if !ok {
		return nil
	}
	list, ok := v.([]string)
	if !ok || len(list) != n {
		r.fail("classifier.output_labels", "is %.100s, want %d texts", fmt.Sprint(v), n)
		return nil
	}
	return list
}

// Labels names n classes as Transformers does where there are no names for all.
func Labels(names []string, n int) []string {
	if len(names) == n {
		return names
	}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("LABEL_%d", i)
	}
	return out
}

// yesNo are the two labels of a reranker that answers with a word.
var yesNo = []string{"yes", "no"}

// yesNo is the row of yes less that of no: the softmax of both is the sigmoid of their
// difference, which is what becomes of every score.
func (t *tensors) yesNo(n int) *weights.Tensor {
	w := t.need("cls.output.weight", 2, n)
	if t.err != nil {
		return nil
	}
	both := alias(w.Name, w)
	row := &weights.Tensor{Name: w.Name + " yes - no", Type: quant.F32, Shape: []int{1, n}}
	compute(row, both, func(x []float32) []float32 {
		for i := range n {
			x[i] -= x[n+i]
		}
		return x[:n]
	})
	t.fill(row)
	return row
}

// oneOf reads a text that is one of those known, def where it is absent.
func (r *reader) oneOf(key, def string, known ...string) string {
	v, ok := r.value(key)
	if !ok {
		return def
	}
	s, _ := v.(string)
	if !slices.Contains(known, s) {
		r.refuse(key, "is %.100s, want one of %v", fmt.Sprint(v), known)
		return def
	}
	return s
}
