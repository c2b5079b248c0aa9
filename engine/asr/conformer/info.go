package conformer

import (
	"os"
	"strings"

	fonnx "quern/formats/onnx"
)

// An Info is the description of a model in its files.
type Info struct {
	Kind      Kind
	Layout    string   // the program whose names its files have
	Graphs    []string // files, the encoder's first
	Tokens    int      // <blk> included
	Durations int      // of a TDT
	Bands     int
	Plain     bool     // features are not normalised
	Frame     float64  // seconds of one of the encoder's
	Longest   float64  // seconds there are positions for; 0: not known
	Window    float64  // seconds that are encoded at a time, at most
	Languages []string // codes; nil: not known
	Number    string   // the type of the weights, as the files' names say, or of most
	Size      int64    // bytes of the graphs and the weights beside them
	Memory    int64    // that the weights take
	Work      int64    // and a window, at most
	Ranges    string   // the operator that looks at the range of a whole run, so that windows do not share one; "" where none does
}

// Describe reads the description of the model at path from its files. Nothing is computed.
func Describe(path string) (*Info, error) {
	h, err := readHead(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	i := &Info{
		Kind: h.Kind, Layout: "onnx-asr", Tokens: len(h.vocab.pieces), Durations: h.durations, Bands: h.bands, Plain: h.plain, Frame: h.seconds(),
		Longest: float64(h.positions) * h.seconds(), Window: h.window(), Languages: h.languages,
	}
	if h.graphs[joiner] != nil || len(h.first().Meta) > 0 || h.Kind == AED && h.timeFirst {
		i.Layout = "sherpa-onnx"
	}
	if h.graphs[combined] != nil {
		i.Layout = "onnx-asr"
	}
	bytes := make(map[fonnx.DType]int64)
	for _, r := range h.files.layout() {
		m := h.graphs[r]
		i.Graphs = append(i.Graphs, h.files.graphs[r])
		if i.Ranges == "" {
			i.Ranges = measures(m)
		}
		var held int64
		for _, t := range m.Graph.Initializers {
			n := int64(len(t.Data))
			bytes[t.Type] += n
			held += n
			i.Memory += n
			if t.Type == fonnx.Float16 || t.Type == fonnx.BFloat16 {
				i.Memory += n // kept as float32
			}
			if len(t.Shape) == 4 && i.Work == 0 && r != joiner {
				// The first convolutions' outputs: a channel has a quarter of the features.
				i.Work = 3 * int64(t.Shape[0]) * int64(h.window()/frameSeconds) * int64(h.bands)
			}
		}
		if st, err := os.Stat(h.files.graphs[r]); err == nil {
			i.Size += st.Size()
			if held > st.Size() { // weights lie beside the graph
				i.Size += held
			}
		}
	}
	i.Number = numberOf(bytes)
	if name := h.files.number; name != "" { // small weights stay float32 in int8 exports
		i.Number = strings.ToUpper(strings.NewReplacer("fp", "f", "float", "f").Replace(name))
	}
	return i, nil
}

// numberOf names the type most bytes have.
func numberOf(bytes map[fonnx.DType]int64) string {
	best := fonnx.Undefined
	for t, n := range bytes {
		if n > bytes[best] || n == bytes[best] && t < best {
			best = t
		}
	}
	return best.Spelled()
}

// Architecture is the kind as onnx-asr's config.json calls it.
func (i *Info) Architecture() string {
	return "nemo-conformer-" + map[Kind]string{TDT: "tdt", RNNT: "rnnt", CTC: "ctc", AED: "aed"}[i.Kind]
}
