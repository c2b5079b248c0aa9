package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/onnx"
	"quern/engine/sched"
	"quern/engine/token"
	fonnx "quern/formats/onnx"
	"quern/formats/safetensors"
	"quern/formats/weights"
	"quern/kernels"
)

// An ONNX model is a folder: graphs, in it or in its folder "onnx", and the
// texts Hugging Face puts beside weights. What the graph takes and gives says
// what it is good for: keys and values of the past, or its architecture, make a
// language model, a classifier of one label makes a reranker, and all others make
// embeddings. Once loaded it is a textModel like any other; only its
// network is run by package onnx.

// formatONNX is header.format of such models.
const formatONNX = "onnx"

// onnxStems are what exporters call the graph that is the model, and
// onnxVariants what they append for its other number types, best first. The
// plain export comes first, as for other programs.
var (
	onnxStems    = []string{"model", "decoder_model_merged", "decoder_model"}
	onnxVariants = []string{"", "_fp32", "_fp16", "_bf16", "_q8", "_quantized", "_int8", "_uint8", "_q4f16", "_q4", "_bnb4"}
)

// An onnxFolder says where the parts of an ONNX model lie.
type onnxFolder struct {
	dir  string // of config.json
	main string // the graph
	past string // the graph for the tokens after the first, where that is another; else ""
}

// findONNX finds the ONNX model at path: a folder, or one of its graphs. ok says
// that there is one.
func findONNX(path string) (f onnxFolder, ok bool, err error) {
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
	for _, stem := range slices.Backward(onnxStems) {
		for _, v := range slices.Backward(onnxVariants) {
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
func (f *onnxFolder) findPast() {
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

// isONNX reports whether path is an ONNX model with what serving needs beside
// it.
func isONNX(path string) bool {
	f, ok, err := findONNX(path)
	return ok && (err != nil || isFile(filepath.Join(f.dir, "config.json")))
}

// An onnxHead is what the files of an ONNX model tell without being run.
type onnxHead struct {
	onnxFolder
	meta   weights.Meta // the texts beside the graphs
	config onnxConfig
	graph  *fonnx.Model
	second *fonnx.Model // of the tokens after the first; nil where graph does all
	kind   Kind

	modulesText []byte // modules.json
}

// onnxConfig is what is used of config.json.
type onnxConfig struct {
	Type          string            `json:"model_type"`
	Architectures []string          `json:"architectures"`
	Labels        map[string]string `json:"id2label"`
	Vocab         int               `json:"vocab_size"`
	Pad           *token.ID         `json:"pad_token_id"`

	// The longest text, by whoever named it.
	Positions  int `json:"max_position_embeddings"`
	NPositions int `json:"n_positions"`
	NContext   int `json:"n_ctx"`
	MaxLength  int `json:"max_seq_len"`
	SeqLength  int `json:"max_sequence_length"`
}

// readONNX opens the graphs of a model, which the caller closes, and reads the
// texts beside them.
func readONNX(path string) (h *onnxHead, err error) {
	h = new(onnxHead)
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.onnxFolder, _, err = findONNX(path); err != nil {
		return h, err
	}
	if err = safetensors.Beside(&h.meta, h.dir); err != nil {
		return h, err
	}
	text := h.meta.String("hf.config")
	if text == "" {
		return h, fmt.Errorf("%w: no config.json beside the ONNX graph; \"quern run-onnx\" runs graphs by themselves", model.ErrUnsupported)
	}
	if err = json.Unmarshal([]byte(text), &h.config); err != nil {
		return h, fmt.Errorf("%w: config.json: %v", model.ErrFormat, err)
	}
	// Small and of no other use than to know what the graph may lack.
	if st, err := os.Stat(filepath.Join(h.dir, "modules.json")); err == nil && st.Size() < 1<<20 {
		h.modulesText, _ = os.ReadFile(filepath.Join(h.dir, "modules.json"))
	}
	if h.graph, err = fonnx.Open(h.main); err != nil {
		return h, ownONNX(err)
	}
	if h.past != "" {
		if h.second, err = fonnx.Open(h.past); err != nil {
			return h, ownONNX(err)
		}
	}
	h.kind, err = h.findKind()
	return h, err
}

// ownONNX makes what package onnx refuses an error that clients are told.
func ownONNX(err error) error {
	for _, x := range []struct{ theirs, ours error }{{fonnx.ErrUnsupported, model.ErrUnsupported}, {fonnx.ErrFormat, model.ErrFormat}} {
		if errors.Is(err, x.theirs) {
			return fmt.Errorf("%w: %s", x.ours, strings.ReplaceAll(err.Error(), x.theirs.Error()+": ", ""))
		}
	}
	return err
}

func (h *onnxHead) close() {
	for _, m := range []*fonnx.Model{h.graph, h.second} {
		if m != nil {
			m.Close() // mappings of files that were only read
		}
	}
}

// findKind says what a model is good for.
func (h *onnxHead) findKind() (Kind, error) {
	decoder := h.second != nil
	for _, in := range h.graph.Graph.Inputs {
		decoder = decoder || strings.HasPrefix(in.Name, pastPrefix)
	}
	arch := ""
	if len(h.config.Architectures) > 0 {
		arch = h.config.Architectures[0]
	}
	decoder = decoder || strings.HasSuffix(arch, "ForCausalLM") || strings.HasSuffix(arch, "LMHeadModel")
	switch {
	case h.config.Type == "whisper":
		return KindTranscription, nil
	case decoder && h.meta.String("tokenizer.chat_template") != "":
		return KindChat, nil
	case decoder:
		return KindCompletion, nil
	case strings.HasSuffix(arch, "ForSequenceClassification"):
		if n := h.labels(); n != 1 {
			return "", fmt.Errorf("%w: a classifier of %d labels; a reranker has one", model.ErrUnsupported, n)
		}
		return KindRerank, knownInputs(askedInputs(h.graph.Graph))
	}
	return KindEmbedding, knownInputs(askedInputs(h.graph.Graph))
}

// labels is how many classes a classifier tells apart. Transformers takes two
// where config.json is silent.
func (h *onnxHead) labels() int {
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
func (h *onnxHead) context() int {
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
		_ = json.Unmarshal([]byte(h.meta.String(key)), &limits)
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

// modelConfig is what the other parts of the engine ask of a model. Hidden is
// not known before the graph has run.
func (h *onnxHead) modelConfig() model.Config {
	return model.Config{
		Arch: h.config.Type, Vocab: h.config.Vocab, Context: h.context(),
		Encoder: h.kind == KindEmbedding || h.kind == KindRerank,
	}
}

// describeONNX fills the header of an entry.
func (n *entry) describeONNX() error {
	h, err := readONNX(n.path)
	if err != nil {
		return err
	}
	defer h.close()
	n.size = h.size()
	c := h.modelConfig()
	n.head = header{kind: h.kind, arch: c.Arch, format: formatONNX, quant: h.quantization(), context: n.o.contextLength(&c)}
	if n.o.ChatTemplate != "" && h.kind == KindCompletion {
		n.head.kind = KindChat
	}
	switch h.kind {
	case KindEmbedding:
		n.head.embed = embeddingOf(&h.meta, n.id, n.path, &n.o)
	case KindChat, KindCompletion:
		// The graph gives logits and nothing an embedding could be made of.
		n.head.lacks = "embedding"
	}
	return nil
}

// size is the bytes of the graphs and the weights beside them.
func (h *onnxHead) size() (n int64) {
	for _, path := range []string{h.main, h.past} {
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

// quantization names the type most bytes of the weights have.
func (h *onnxHead) quantization() string {
	bytes := make(map[fonnx.DType]int)
	best := fonnx.Undefined
	for _, t := range h.graph.Graph.Initializers {
		bytes[t.Type] += len(t.Data)
		if best == fonnx.Undefined || bytes[t.Type] > bytes[best] {
			best = t.Type
		}
	}
	switch best {
	case fonnx.Undefined:
		return ""
	case fonnx.Float:
		return "F32"
	case fonnx.Float16:
		return "F16"
	case fonnx.BFloat16:
		return "BF16"
	}
	return strings.ToUpper(best.String())
}

// memory is about what the weights of the graphs take: package onnx keeps floats
// as float32, and integers as they are.
func (h *onnxHead) memory() (n int64) {
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

// print hashes what makes replies repeatable.
func (h *onnxHead) print() string {
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
	return stampBuild(sum)
}

// An onnxLM stands for a graph that comes ready: there is nothing to record.
type onnxLM struct{ c model.Config }

func (m *onnxLM) Config() *model.Config { return &m.c }

func (m *onnxLM) Hidden(b *graph.Builder) graph.Value {
	b.Fail(fmt.Errorf("%w: an ONNX graph is run as it is", model.ErrUnsupported))
	return graph.Value{}
}

func (m *onnxLM) Logits(b *graph.Builder, _ graph.Value) graph.Value { return m.Hidden(b) }

// openONNX makes an ONNX model resident.
func (e *Engine) openONNX(n *entry) (_ loaded, err error) {
	start := time.Now()
	backend := e.host()
	h, err := readONNX(n.path)
	if err != nil {
		return nil, err
	}
	lm := &onnxLM{h.modelConfig()}
	m := &textModel{id: n.id, embed: n.head.embed, file: &weights.Set{Meta: h.meta}, lm: lm}
	m.set = m.file
	m.file.OnClose(func() error { h.close(); return nil })
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	m.context = n.o.contextLength(&lm.c)
	m.estimate = Estimate{Weights: h.memory(), Context: m.context}
	if err = e.makeRoom(n.id, m.estimate.Total()); err != nil {
		return nil, err
	}
	e.log.Info("loading model", "model", n.id, "weight_bytes", m.estimate.Weights, "context", m.context)
	if err = m.openTokens(); err != nil {
		return nil, err
	}
	if err = m.openTemplate(e, n); err != nil {
		return nil, err
	}
	main, err := e.newONNXGraph(h.graph, backend)
	if err != nil {
		return nil, ownONNX(err)
	}
	e.progress(n.id, loadFilled)
	switch h.kind {
	case KindEmbedding:
		err = m.openONNXEncoder(e, n, h, main)
	case KindRerank:
		err = m.openONNXRanker(e, n, h, main)
	default:
		err = m.openONNXDecoder(e, n, h, main)
	}
	if err != nil {
		return nil, ownONNX(err)
	}
	m.fingerprint = h.print()
	m.took = time.Since(start)
	e.progress(n.id, 1)
	return m, nil
}

// openTokens reads the tokenizer of a model whose vocabulary has no table of
// embeddings to be held against; the probe of its graph does that.
func (m *textModel) openTokens() error {
	spec, err := token.From(&m.file.Meta)
	if err != nil {
		return err
	}
	if m.vocab, err = token.New(spec); err != nil {
		return err
	}
	c := m.lm.Config()
	c.Vocab = max(c.Vocab, m.vocab.Size())
	return nil
}

func (m *textModel) openONNXEncoder(e *Engine, n *entry, h *onnxHead, g *onnxGraph) error {
	x, err := newONNXEncoder(g, h, m, n.o.defaulted().Batch)
	if err != nil {
		return err
	}
	if x.pooling, err = h.pooling(x.pooled); err != nil {
		return err
	}
	probe, err := x.run(e.ctx, [][]token.ID{m.vocab.EncodeSequence(nil, "a", false)})
	if err != nil {
		return err
	}
	m.lm.Config().Hidden = len(probe[0])
	m.encoder = x
	return nil
}

func (m *textModel) openONNXDecoder(e *Engine, n *entry, h *onnxHead, g *onnxGraph) error {
	next := g
	if h.second != nil {
		var err error
		if next, err = e.newONNXGraph(h.second, g.backend); err != nil {
			return err
		}
	}
	d, err := newONNXDecoder(g, next, blockSize)
	if err != nil {
		return err
	}
	if len(d.past) == 0 {
		e.log.Warn("the ONNX graph takes no keys and values of the past: every token costs as much as the whole text", "model", n.id)
	}
	if d.crosses() {
		return fmt.Errorf("%w: a decoder that continues what an encoder read, which no endpoint for text does", model.ErrUnsupported)
	}
	c := m.lm.Config()
	if c.Vocab, err = d.probe(e.ctx); err != nil {
		return err
	}
	if m.vocab.Size() > c.Vocab {
		return fmt.Errorf("%w: a vocabulary of %d tokens with logits of %d", model.ErrFormat, m.vocab.Size(), c.Vocab)
	}
	if m.context > c.Context {
		e.log.Warn("context_length is beyond what the model was made for", "model", n.id, "context_length", m.context, "model's", c.Context)
	}
	o := n.o.defaulted()
	blocks, err := d.blocks(m, &o, e.o.MemoryLimit)
	if err != nil {
		return err
	}
	if err = e.makeRoom(n.id, m.estimate.Total()); err != nil {
		return err
	}
	m.exec, m.cache = d, newONNXCache(d.perBlock, blocks)
	return m.schedule(e, sched.Options{
		Exec: m.exec, Cache: m.cache, Blocks: blocks, BlockSize: blockSize,
		Budget: o.Batch, MaxWant: wanted(&o), Slots: o.Slots, Queue: o.Queue, Context: m.context,
		Log: e.log.With("model", m.id),
	})
}

// An onnxGraph is a graph that takes turns on the processor with other models.
type onnxGraph struct {
	mu      sync.Mutex // of a run, taken before the turn: one that gives way may not be waited for by who has it
	session *onnx.Session
	backend *cpu.Backend
	yield   func()        // of the turn in force
	inputs  []fonnx.Value // those without a value of their own
	outputs []fonnx.Value
}

func (e *Engine) newONNXGraph(m *fonnx.Model, backend *cpu.Backend) (*onnxGraph, error) {
	g := &onnxGraph{backend: backend, inputs: askedInputs(m.Graph), outputs: m.Graph.Outputs}
	// Exporters give one name to sizes that differ at the start of a text, where
	// the past is empty, so names bind nothing here.
	for _, in := range m.Graph.Inputs {
		for i := range in.Type.Dims {
			in.Type.Dims[i].Param = ""
		}
	}
	var err error
	if turn := backend.Do(e.ctx, func(pool *kernels.Pool, yield func()) {
		g.yield = yield
		g.session, err = onnx.New(m, onnx.Options{Pool: pool, Limit: e.o.MemoryLimit, Yield: func() { g.yield() }})
	}); turn != nil {
		return nil, turn
	}
	return g, err
}

// askedInputs are the inputs that must be given. Old files list weights among
// the inputs too.
func askedInputs(g *fonnx.Graph) []fonnx.Value {
	given := make(map[string]bool)
	for _, t := range g.Initializers {
		given[t.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(g.Inputs), func(v fonnx.Value) bool { return given[v.Name] })
}

func (g *onnxGraph) run(ctx context.Context, in map[string]*onnx.Tensor) (out map[string]*onnx.Tensor, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if turn := g.backend.Do(ctx, func(_ *kernels.Pool, yield func()) {
		g.yield = yield
		out, err = g.session.Run(ctx, in)
	}); turn != nil {
		return nil, turn
	}
	return out, err
}

// tensorOf makes an input of the declared type from whole numbers.
func tensorOf(v *fonnx.Value, numbers []int64, shape ...int) *onnx.Tensor {
	t := &onnx.Tensor{Type: v.Type.Elem, Shape: shape}
	switch t.Type {
	case fonnx.Float, fonnx.Float16, fonnx.BFloat16:
		t.F = make([]float32, len(numbers))
		for i, x := range numbers {
			t.F[i] = float32(x)
		}
	case fonnx.Double:
		t.D = make([]float64, len(numbers))
		for i, x := range numbers {
			t.D[i] = float64(x)
		}
	default:
		t.I = numbers
	}
	return t
}

// rows returns the numbers of an output of that shape; a size below zero may be
// any.
func rows(out map[string]*onnx.Tensor, name string, shape ...int) (*onnx.Tensor, error) {
	t := out[name]
	if t == nil || t.F == nil || len(t.Shape) != len(shape) {
		return nil, fmt.Errorf("%w: the graph's output %q is not what it declares", model.ErrFormat, name)
	}
	for i, d := range shape {
		if d >= 0 && d != t.Shape[i] {
			return nil, fmt.Errorf("%w: the graph's output %q has shape %d, want %d", model.ErrFormat, name, t.Shape, shape)
		}
	}
	return t, nil
}
