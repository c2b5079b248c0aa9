// Package serve makes models of ONNX graphs: it finds them, says what they are good
// for, and runs them for the jobs that text models do and for listening.
//
// An ONNX model is a folder: graphs, in it or in its folder "onnx", and the
// texts Hugging Face puts beside weights. What the graph takes and gives says
// what it is good for: keys and values of the past, or its architecture, make a
// language model, a classifier of one label makes a reranker, and all others make
// embeddings. Once loaded it is a text model like any other; only its network is
// run by package onnx.
package serve

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/token"
	fonnx "quern/formats/onnx"
	"quern/formats/safetensors"
	"quern/formats/weights"
)

// stems are what exporters call the graph that is the model, and
// variants what they append for its other number types, best first. The
// plain export comes first, as for other programs.
var (
	stems    = []string{"model", "decoder_model_merged", "decoder_model"}
	variants = []string{"", "_fp32", "_fp16", "_bf16", "_q8", "_quantized", "_int8", "_uint8", "_q4f16", "_q4", "_bnb4"}
)

// A folder says where the parts of an ONNX model lie.
type folder struct {
	dir  string // of config.json
	main string // the graph
	past string // the graph for the tokens after the first, where that is another; else ""
}

// find finds the ONNX model at path: a folder, or one of its graphs. ok says
// that there is one.
func find(path string) (f folder, ok bool, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return f, false, err
	}
	if !st.IsDir() {
		if !strings.EqualFold(filepath.Ext(path), ".onnx") {
			return f, false, nil
		}
		f.dir, f.main = filepath.Dir(path), path
		if !isFile(filepath.Join(f.dir, "config.json")) && filepath.Base(f.dir) == "onnx" {
			f.dir = filepath.Dir(f.dir)
		}
		f.findPast()
		return f, true, nil
	}
	f.dir = path
	graphs := make(map[string]string) // path by name without extension
	for _, sub := range []string{"onnx", "."} {
		entries, err := os.ReadDir(filepath.Join(path, sub))
		if err != nil {
			continue // most have one of the two
		}
		for _, e := range entries {
			switch name := e.Name(); strings.ToLower(filepath.Ext(name)) {
			case ".onnx":
				graphs[strings.TrimSuffix(name, filepath.Ext(name))] = filepath.Join(path, sub, name)
			case ".gguf", ".safetensors":
				if sub == "." {
					return f, false, nil // the same weights, which quern runs faster
				}
			}
		}
	}
	if len(graphs) == 0 {
		return f, false, nil
	}
	var names []string
	for name, at := range graphs {
		names = append(names, filepath.Base(at))
		f.main = graphs[name]
	}
	for _, stem := range slices.Backward(stems) {
		for _, v := range slices.Backward(variants) {
			if at := graphs[stem+v]; at != "" {
				f.main = at
				names = nil
			}
		}
	}
	if len(names) > 1 {
		slices.Sort(names)
		return f, true, fmt.Errorf("%w: %s holds several ONNX graphs, name one of them: %s", fonnx.ErrUnsupported, path, strings.Join(names, ", "))
	}
	f.findPast()
	return f, true, nil
}

// findPast looks for the second of the two graphs that older exporters made of a
// decoder.
func (f *folder) findPast() {
	if rest, ok := strings.CutPrefix(filepath.Base(f.main), "decoder_model"); ok && !strings.HasPrefix(rest, "_merged") {
		if at := filepath.Join(filepath.Dir(f.main), "decoder_with_past_model"+rest); isFile(at) {
			f.past = at
		}
	}
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// Is reports whether path is an ONNX model with what serving needs beside
// it.
func Is(path string) bool {
	f, ok, err := find(path)
	return ok && (err != nil || isFile(filepath.Join(f.dir, "config.json")))
}

// A Head is what the files of an ONNX model say without running them.
type Head struct {
	folder
	Kind engine.Kind
	Meta weights.Meta // the texts beside the graphs

	config config
	graph  *fonnx.Model
	second *fonnx.Model // of the tokens after the first; nil where graph does all

	modules []byte // modules.json
}

// config is what is used of config.json.
type config struct {
	lm.Published
	Vocab int       `json:"vocab_size"`
	Pad   *token.ID `json:"pad_token_id"`

	// The longest text, under the key that each family has for it.
	Positions  int `json:"max_position_embeddings"`
	NPositions int `json:"n_positions"`
	NContext   int `json:"n_ctx"`
	MaxLength  int `json:"max_seq_len"`
	SeqLength  int `json:"max_sequence_length"`
}

// Read opens the graphs of a model, which the caller closes, and reads the
// texts beside them.
func Read(path string) (h *Head, err error) {
	h = new(Head)
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	if h.folder, _, err = find(path); err != nil {
		return h, err
	}
	if err = safetensors.Beside(&h.Meta, h.dir); err != nil {
		return h, err
	}
	text := h.Meta.String("hf.config")
	if text == "" {
		return h, fmt.Errorf("%w: no config.json beside the ONNX graph; \"quern run-onnx\" runs graphs by themselves", model.ErrUnsupported)
	}
	if err = json.Unmarshal([]byte(text), &h.config); err != nil {
		return h, fmt.Errorf("%w: config.json: %v", model.ErrFormat, err)
	}
	// Small, and read only to find what the graph may lack.
	if st, err := os.Stat(filepath.Join(h.dir, "modules.json")); err == nil && st.Size() < 1<<20 {
		h.modules, _ = os.ReadFile(filepath.Join(h.dir, "modules.json"))
	}
	if h.graph, err = fonnx.Open(h.main); err != nil {
		return h, err
	}
	if h.past != "" {
		if h.second, err = fonnx.Open(h.past); err != nil {
			return h, err
		}
	}
	h.Kind, err = h.findKind()
	return h, err
}

// Close closes the graphs.
func (h *Head) Close() {
	for _, m := range []*fonnx.Model{h.graph, h.second} {
		if m != nil {
			m.Close() // mappings of files that were only read
		}
	}
}

// findKind says what a model is good for.
func (h *Head) findKind() (engine.Kind, error) {
	decoder := h.second != nil
	for _, in := range h.graph.Graph.Inputs {
		decoder = decoder || strings.HasPrefix(in.Name, pastPrefix)
	}
	decoder = decoder || h.config.Made("ForCausalLM", "LMHeadModel")
	switch {
	case h.config.Type == "whisper":
		return engine.KindTranscription, nil
	case decoder && h.Meta.String("tokenizer.chat_template") != "":
		return engine.KindChat, nil
	case decoder:
		return engine.KindCompletion, nil
	case h.config.Made(lm.Scores):
		if n := h.labels(); n > maxLabels {
			return "", fmt.Errorf("%w: a classifier of %d labels; the limit is %d", model.ErrUnsupported, n, maxLabels)
		} else if n > 1 {
			if h.config.Problem == "regression" {
				return "", fmt.Errorf("%w: a regression of %d numbers", model.ErrUnsupported, n)
			}
			return engine.KindClassification, knownInputs(h.graph.Graph.Asked())
		}
		return engine.KindRerank, knownInputs(h.graph.Graph.Asked())
	}
	return engine.KindEmbedding, knownInputs(h.graph.Graph.Asked())
}

// maxLabels is far above what is published.
const maxLabels = 1 << 20

// labels is how many classes a classifier has. Transformers takes two
// where config.json is silent.
func (h *Head) labels() int {
	for _, out := range h.graph.Graph.Outputs {
		if d := out.Type.Dims; out.Name == "logits" && len(d) == 2 && d[1].Size > 0 {
			return int(d[1].Size)
		}
	}
	if n := len(h.config.Labels); n > 0 {
		return n
	}
	return 2
}

// offsetPositions are the architectures whose table of positions begins with two
// rows that no token has.
var offsetPositions = []string{"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "data2vec-text"}

// maxPositions bounds what counts as the length a tokenizer allows: where none
// is meant it says 10³⁰.
const maxPositions = 1 << 28

// context is the longest text the model was made for.
func (h *Head) context() int {
	c := &h.config
	n := 0
	for _, v := range []int{c.Positions, c.NPositions, c.NContext, c.MaxLength, c.SeqLength} {
		if n == 0 && v > 0 && v <= maxPositions {
			n = v
		}
	}
	if n > 2 && slices.Contains(offsetPositions, c.Type) {
		n -= 2
	}
	var limits struct {
		Tokenizer float64 `json:"model_max_length"`
		Sentence  float64 `json:"max_seq_length"`
	}
	for _, key := range []string{"hf.tokenizer_config", "hf.sentence_bert_config"} {
		// Texts that are not what they should be count as none.
		_ = json.Unmarshal([]byte(h.Meta.String(key)), &limits)
	}
	for _, v := range []float64{limits.Tokenizer, limits.Sentence} {
		if v >= 1 && v <= maxPositions && (n == 0 || int(v) < n) {
			n = int(v)
		}
	}
	if n == 0 {
		n = 512
	}
	return n
}

// scores reports whether the graph gives logits of texts.
func (h *Head) scores() bool {
	return h.Kind == engine.KindRerank || h.Kind == engine.KindClassification
}

// Config is what the other parts of the engine ask of a model. Hidden is
// not known before the graph has run.
func (h *Head) Config() model.Config {
	c := model.Config{
		Arch: h.config.Type, Vocab: h.config.Vocab, Context: h.context(),
		Encoder: h.Kind == engine.KindEmbedding || h.scores(),
	}
	if h.Kind == engine.KindClassification {
		c.Labels = model.Labels(model.LabelNames(h.config.Labels), h.labels())
		c.Many = h.config.Problem == "multi_label_classification"
	}
	return c
}

// Size is the bytes of the graphs and the weights beside them.
func (h *Head) Size() (n int64) {
	graphs := []string{h.main, h.past}
	if encoder, err := h.findEncoder(); err == nil && h.Kind == engine.KindTranscription {
		graphs = append(graphs, encoder)
	}
	for _, path := range graphs {
		if st, err := os.Stat(path); err == nil {
			n += st.Size()
		}
		// Exporters call the file of weights after the graph.
		for _, suffix := range []string{"_data", ".data"} {
			if st, err := os.Stat(path + suffix); err == nil && path != "" {
				n += st.Size()
			}
		}
	}
	return n
}

// Quantization names the type most bytes of the weights have.
func (h *Head) Quantization() string {
	bytes := make(map[fonnx.DType]int)
	best := fonnx.Undefined
	for _, t := range h.graph.Graph.Initializers {
		bytes[t.Type] += len(t.Data)
		if best == fonnx.Undefined || bytes[t.Type] > bytes[best] {
			best = t.Type
		}
	}
	return best.Spelled()
}

// Memory is about what the weights of the graphs take: package onnx keeps floats
// as float32, and integers as they are.
func (h *Head) Memory() (n int64) {
	for _, m := range []*fonnx.Model{h.graph, h.second} {
		if m == nil {
			continue
		}
		for _, t := range m.Graph.Initializers {
			if t.Type == fonnx.Float16 || t.Type == fonnx.BFloat16 {
				n += int64(len(t.Data))
			}
			n += int64(len(t.Data))
		}
	}
	return n
}

// Fingerprint hashes what makes replies repeatable.
func (h *Head) Fingerprint() string {
	sum := sha256.New()
	for _, m := range []*fonnx.Model{h.graph, h.second} {
		if m == nil {
			continue
		}
		for _, t := range m.Graph.Initializers {
			fmt.Fprintf(sum, "%s %v %v %x\n", t.Name, t.Type, t.Shape, t.Data[:min(64, len(t.Data))])
		}
		for _, n := range m.Graph.Nodes {
			fmt.Fprintln(sum, n.Domain, n.Op, n.Inputs, n.Outputs)
		}
	}
	return lm.Stamp(sum)
}
