package conformer

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"quern/engine/asr/audio"
	"quern/engine/asr/heard"
	fonnx "quern/formats/onnx"
)

// A Kind is how the decoder of a model writes.
type Kind string

// The kinds.
const (
	TDT  Kind = "TDT"   // a transducer that predicts durations, the frames to advance
	RNNT Kind = "RNN-T" // a transducer
	CTC  Kind = "CTC"
	AED  Kind = "AED" // attention: Canary
)

// A head is what the files of a model say without running them.
type head struct {
	Kind   Kind
	files  *found
	graphs map[role]*fonnx.Model
	vocab  *vocabulary

	features    *audio.Features
	bands       int
	plain       bool // features are not normalised
	timeFirst   bool // features are (windows, frames, bands)
	subsampling int  // frames of features for one of the encoder
	positions   int  // frames of the encoder that there are positions for; 0: not known
	durations   int  // of a TDT
	languages   []string
}

// readHead opens the graphs of a model and reads the files beside them.
func readHead(path string) (_ *head, err error) {
	f, err := find(path)
	if err != nil {
		return nil, err
	}
	set := f.layout()
	switch {
	case f.problem != nil:
		return nil, f.problem
	case set == nil:
		return nil, fmt.Errorf("%w: the folder has %s; a recogniser is encoder-model.onnx with decoder_joint-model.onnx or decoder-model.onnx, "+
			"encoder.onnx with decoder.onnx and joiner.onnx (or Canary's decoder.onnx), or model.onnx for CTC, with their tensors as NeMo exports them", ErrUnsupported, f.list())
	}
	h := &head{files: f, graphs: make(map[role]*fonnx.Model)}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	for _, r := range set {
		if h.graphs[r], err = fonnx.Open(f.graphs[r]); err != nil {
			return nil, err
		}
	}
	if h.vocab, err = readVocabulary(f.tokens); err != nil {
		return nil, err
	}
	if err = h.sound(); err != nil {
		return nil, err
	}
	if err = h.kind(); err != nil {
		return nil, err
	}
	h.languages = h.vocab.languages(h.Kind == AED, func(code string) bool { return heard.LanguageName(code) != "" })
	h.positions = positions(h.first().Graph)
	if h.positions > 0 && h.window() < leastWindow {
		return nil, fmt.Errorf("%w: the encoder has positions for %d frames, which is less than a second", ErrUnsupported, h.positions)
	}
	return h, nil
}

// list names the graphs and their roles.
func (f *found) list() string {
	var names []string
	for r, at := range f.graphs {
		if r != none {
			names = append(names, filepath.Base(at))
		}
	}
	if len(names) == 0 {
		return "no graph of a known form"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Close closes the graphs.
func (h *head) Close() (err error) {
	for _, m := range h.graphs {
		if m != nil {
			err = m.Close()
		}
	}
	return err
}

// first is the graph that takes features.
func (h *head) first() *fonnx.Model {
	if m := h.graphs[labelling]; m != nil {
		return m
	}
	return h.graphs[encoding]
}

// number reads a count of sherpa-onnx's metadata, 0 where there is none.
func number(m *fonnx.Model, key string) int {
	n, err := strconv.Atoi(m.Meta[key])
	if err != nil || n < 0 || n > 1<<20 {
		return 0
	}
	return n
}

// sound detects the features that the encoder takes.
func (h *head) sound() (err error) {
	m := h.first()
	in := m.Graph.Asked()[0]
	dim := func(i int) int {
		if len(in.Type.Dims) == 3 {
			return int(in.Type.Dims[i].Size)
		}
		return -1
	}
	known := func(n int) bool { return n == 80 || n == 128 }
	h.bands = max(number(m, "feat_dim"), h.files.config.Bands)
	switch {
	case known(dim(1)):
		h.bands = dim(1)
	case known(dim(2)):
		h.bands, h.timeFirst = dim(2), true
	case dim(1) > 0 || dim(2) > 0: // GigaAM, as sherpa-onnx runs it
		h.bands = max(dim(1), dim(2))
	default:
		// Of graphs that do not say, sherpa-onnx's of Canary take time first.
		h.timeFirst = h.graphs[attending] != nil && len(h.graphs[attending].Graph.Asked()) != 4
	}
	if h.bands == 0 {
		h.bands = 128
	}
	if h.features, err = audio.NewFeatures(fmt.Sprintf("nemo-%d", h.bands)); err != nil {
		return fmt.Errorf("%w: an encoder of %d bands; those of 80 and 128 are known", ErrUnsupported, h.bands)
	}
	switch kind, said := m.Meta["normalize_type"]; {
	case !said || kind == "per_feature":
	case kind == "NA" || kind == "":
		h.plain, h.features = true, h.features.Plain()
	default:
		return fmt.Errorf("%w: features normalised by %q; per_feature and NA are known", ErrUnsupported, kind)
	}
	h.subsampling = max(number(m, "subsampling_factor"), h.files.config.Subsampling)
	if h.subsampling == 0 {
		h.subsampling = 8
	}
	if h.subsampling > 64 || h.subsampling&(h.subsampling-1) != 0 {
		return fmt.Errorf("%w: a subsampling of %d", ErrUnsupported, h.subsampling)
	}
	return nil
}

// mostDurations bounds the durations in the joint's width beyond the tokens.
const mostDurations = 32

// kind finds out how the decoder writes. The width of the joint beyond the number of tokens
// is the number of durations: sherpa-onnx recognises a TDT by its name only.
func (h *head) kind() error {
	tokens := len(h.vocab.pieces)
	fits := func(width int, what string) error {
		if said := number(h.first(), "vocab_size"); said > 0 && h.Kind != AED && said != tokens-1 {
			return fmt.Errorf("%w: %s has %d tokens, <blk> among them, and the encoder was made for %d", ErrFormat, filepath.Base(h.files.tokens), tokens, said+1)
		}
		if width >= 0 && (width < tokens || width > tokens+mostDurations) {
			return fmt.Errorf("%w: %s has %d tokens, and %s gives %d numbers: they do not belong together", ErrFormat, filepath.Base(h.files.tokens), tokens, what, width)
		}
		return nil
	}
	width := func(g *fonnx.Graph, i int) int {
		if d := g.Outputs[0].Type.Dims; len(d) > i {
			return int(d[i].Size)
		}
		return -1
	}
	switch {
	case h.graphs[attending] != nil:
		h.Kind = AED
		return fits(width(h.graphs[attending].Graph, 2), "the decoder")
	case h.vocab.blank < 0:
		return fmt.Errorf("%w: %s has no token <blk>", ErrFormat, filepath.Base(h.files.tokens))
	case h.graphs[labelling] != nil:
		h.Kind = CTC
		w := width(h.graphs[labelling].Graph, 2)
		if err := fits(w, "the graph"); err != nil || w <= tokens {
			return err
		}
		return fmt.Errorf("%w: %s has %d tokens, and the graph gives %d numbers: they do not belong together", ErrFormat, filepath.Base(h.files.tokens), tokens, w)
	}
	h.Kind = RNNT
	joint := h.graphs[joiner]
	if joint == nil {
		joint = h.graphs[combined]
	}
	w := width(joint.Graph, 3)
	if err := fits(w, "the joint"); err != nil {
		return err
	}
	if w > tokens {
		h.durations, h.Kind = w-tokens, TDT
	}
	if h.vocab.blank != tokens-1 {
		return fmt.Errorf("%w: %s is token %d; a transducer's is the last", ErrUnsupported, h.vocab.pieces[h.vocab.blank], h.vocab.blank)
	}
	return nil
}

// positions finds the table of relative positions, (1, 2n−1, width), and returns n: how
// many frames the encoder can attend over.
func positions(g *fonnx.Graph) (n int) {
	see := func(t *fonnx.Tensor) {
		if t == nil || len(t.Shape) != 3 || t.Shape[0] != 1 || t.Shape[1]%2 == 0 || t.Shape[1] < 63 || !isFloat(t.Type) {
			return
		}
		n = max(n, (t.Shape[1]+1)/2)
	}
	for _, t := range g.Initializers {
		see(t)
	}
	for _, node := range g.Nodes {
		if a := node.Attrs["value"]; node.Op == "Constant" && a != nil {
			see(a.T)
		}
	}
	return n
}

// encoded is how many frames the encoder makes of n of features.
func (h *head) encoded(n int) int {
	for k := h.subsampling; k > 1; k /= 2 {
		n = (n-1)/2 + 1
	}
	return n
}

// Windows in seconds: one ends at the first silence behind shortWindow, and anywhere at
// longWindow, where that is no more than the positions of the encoder. A decoder that
// attends was trained on less.
const (
	shortWindow = 20.0
	longWindow  = 40.0
	attendShort = 8.0
	attendLong  = 30.0
	leastWindow = 1.0
)

// seconds is the time of a frame of the encoder.
func (h *head) seconds() float64 { return float64(h.subsampling) * frameSeconds }

// window is the longest window, in seconds.
func (h *head) window() float64 {
	long := longWindow
	if h.Kind == AED {
		long = attendLong
	}
	if h.positions > 0 {
		long = min(long, float64(h.positions)*h.seconds())
	}
	return math.Floor(long*100) / 100
}

// short is where a window may end.
func (h *head) short() float64 {
	short := shortWindow
	if h.Kind == AED {
		short = attendShort
	}
	return min(short, h.window()/2)
}
