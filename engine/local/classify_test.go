package local

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine"
)

// problem writes into a published classifier what its labels are, and are to a text.
func problem(t *testing.T, dir, kind string, labels ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for i, l := range labels {
		names[string(rune('0'+i))] = l
	}
	config["id2label"] = names
	if kind != "" {
		config["problem_type"] = kind
	}
	place(t, dir, "config.json", config)
}

// TestClassify holds what a BERT from SafeTensors says of texts against an ONNX graph of the
// same weights, in each of the ways that labels are meant.
func TestClassify(t *testing.T) {
	labels := []string{"negative", "neutral", "positive"}
	for _, tt := range []struct {
		name, problem string
		labels        []string
		want          []string
		many          bool
	}{
		{"one label a text", "single_label_classification", labels, labels, false},
		{"it is not said", "", labels, labels, false},
		{"several", "multi_label_classification", labels, labels, true},
		{"the words of a reranker", "", []string{"no", "yes"}, []string{"no", "yes"}, false},
		{"without names", "", nil, []string{"LABEL_0", "LABEL_1", "LABEL_2"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain, graph := crossEncoder(t, len(tt.want))
			problem(t, plain, tt.problem, tt.labels...)
			problem(t, graph, tt.problem, tt.labels...)
			e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "plain", Path: plain}, {Name: "graph", Path: graph}}})
			r := engine.ClassifyRequest{Inputs: []engine.EmbedInput{{Text: "w10 w11"}, {Text: "w30"}, {Text: strings.Repeat("w9 ", 700)}}, Truncate: true}
			var got [2]engine.ClassifyResult
			for i, name := range []string{"plain", "graph"} {
				l, err := e.Open(t.Context(), name, engine.KindClassification)
				if err != nil {
					t.Fatal(err)
				}
				got[i], err = l.Classify(t.Context(), r)
				l.Release()
				if err != nil || !slices.Equal(got[i].Labels, tt.want) {
					t.Fatalf("%s: labels %q, %v; want %q", name, got[i].Labels, err, tt.want)
				}
			}
			if got[0].PromptTokens != got[1].PromptTokens {
				t.Errorf("%d and %d tokens", got[0].PromptTokens, got[1].PromptTokens)
			}
			for i, probs := range got[0].Probabilities {
				sum := 0.0
				for k, p := range probs {
					if d := math.Abs(float64(p - got[1].Probabilities[i][k])); d > 1e-5 || !(p > 0 && p < 1) {
						t.Errorf("text %d, label %d: %v and %v", i, k, p, got[1].Probabilities[i][k])
					}
					sum += float64(p)
				}
				if one := math.Abs(sum-1) < 1e-5; one == tt.many {
					t.Errorf("text %d: %v sums to %v", i, probs, sum)
				}
			}
		})
	}
}

// TestClassifiers: a classifier says that it is one, gives logits too, and does nothing else;
// other models do not classify.
func TestClassifiers(t *testing.T) {
	dir, _ := crossEncoder(t, 2)
	e := open(t, engine.Options{Builtin: true, Models: []engine.ModelOptions{{Name: "c", Path: dir}}})
	info, err := e.described("", engine.KindClassification)
	if err != nil || info.ID != "c" || !slices.Equal(info.Capabilities, []string{"classification"}) {
		t.Errorf("the classifier is %+v, %v", info, err)
	}
	l, err := e.Open(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	in := []engine.EmbedInput{{Text: "w10 w11"}}
	probs, err := l.Classify(t.Context(), engine.ClassifyRequest{Inputs: in})
	if err != nil {
		t.Fatal(err)
	}
	logits, err := l.Classify(t.Context(), engine.ClassifyRequest{Inputs: in, Logits: true})
	if err != nil {
		t.Fatal(err)
	}
	a, b := logits.Probabilities[0][0], logits.Probabilities[0][1]
	if want := 1 / (1 + math.Exp(float64(b-a))); math.Abs(want-float64(probs.Probabilities[0][0])) > 1e-6 {
		t.Errorf("logits %v, probabilities %v", logits.Probabilities, probs.Probabilities)
	}
	_, err = l.Classify(t.Context(), engine.ClassifyRequest{Inputs: []engine.EmbedInput{{Text: strings.Repeat("w9 ", 700)}}})
	wantCode(t, err, engine.CodeContextLength)
	_, err = l.Rerank(t.Context(), engine.RerankRequest{Query: "w1", Documents: []string{"w2"}})
	wantCode(t, err, engine.CodeModelNotSupported)
	_, err = l.Embed(t.Context(), engine.EmbedRequest{Inputs: in})
	wantCode(t, err, engine.CodeModelNotSupported)

	chat, err := e.Open(t.Context(), "quern-tiny")
	if err != nil {
		t.Fatal(err)
	}
	defer chat.Release()
	_, err = chat.Classify(t.Context(), engine.ClassifyRequest{Inputs: in})
	wantCode(t, err, engine.CodeModelNotSupported)
	_, err = chat.Infill(t.Context(), engine.InfillRequest{Prefix: "a"})
	wantCode(t, err, engine.CodeModelNotSupported)
}

// TestDescribe: a model is described by its files whether or not it is loaded.
func TestDescribe(t *testing.T) {
	dir, graph := crossEncoder(t, 2)
	zero := float32(0)
	e := open(t, engine.Options{Builtin: true, Defaulted: engine.ModelOptions{Slots: 5}, Models: []engine.ModelOptions{
		{Name: "c", Path: dir}, {Name: "g", Path: graph}, {Name: "own", Path: small, ChatTemplate: "{{ messages }}", Sampling: engine.Sampling{Temperature: &zero}},
		{Name: "thinks", Path: small, ChatTemplate: "{% for m in messages %}{{ m.role }}: {{ m.content.split('</think>')[-1] }}{% endfor %}"}}})
	for _, m := range e.Models() {
		d, err := e.Describe(t.Context(), m.ID)
		if err != nil {
			t.Fatalf("%s: %v", m.ID, err)
		}
		if want := m.ID == "thinks" || m.ID == "own"; d.Thinks != want { // the latter shows messages with all they have
			t.Errorf("%s thinks: %v", m.ID, d.Thinks)
		}
		switch m.ID {
		case "quern-tiny":
			if !strings.Contains(d.Template, "messages") || d.EOS == "" || d.Infill || d.Slots != 5 || d.Parameters < 1_000_000 {
				t.Errorf("%+v", d)
			}
		case "c":
			if d.Template != "" || d.Parameters == 0 {
				t.Errorf("%+v", d)
			}
		case "own":
			if d.Template != "{{ messages }}" || d.Sampling.Temperature != &zero {
				t.Errorf("%+v", d)
			}
		}
	}
	_, err := e.Describe(t.Context(), "absent")
	wantCode(t, err, engine.CodeModelNotFound)
}
