package conformer

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	fonnx "quern/formats/onnx"
)

// A role is the part of a graph in a recogniser.
type role int

const (
	none      role = iota
	encoding       // features to states
	predictor      // tokens to the state of a transducer
	joiner         // a frame and that state to logits
	combined       // predictor and joiner in one
	labelling      // features to log-probabilities: CTC
	attending      // tokens to logits, looking at states
)

// layouts are the sets of graphs that make a recogniser.
var layouts = [][]role{{encoding, combined}, {encoding, predictor, joiner}, {encoding, attending}, {labelling}}

// stems are onnx-asr's and sherpa-onnx's names of the graphs. A file that cannot be opened is
// known by them only.
var stems = map[string]role{
	"encoder-model": encoding, "decoder_joint-model": combined, "decoder-model": attending,
	"encoder": encoding, "decoder": predictor, "joiner": joiner, "model": labelling,
}

// suffix is the suffix that exporters append for a number type.
var suffix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*)[._-](int8|uint8|fp16|fp32|float16|q8|quantized)$`)
})

// preferred are the number types in the order of choice: the plain export first, as for
// other programs.
var preferred = []string{"", "fp32", "fp16", "float16", "int8", "uint8", "q8", "quantized"}

// tokenFiles hold a token a line.
var tokenFiles = []string{"tokens.txt", "vocab.txt"}

// most files of a folder that are looked at.
const (
	mostGraphs = 32
	mostTokens = 16 << 20 // bytes
)

// A found is where the parts of a recogniser lie.
type found struct {
	dir, tokens string
	number      string // number type by the files' names
	graphs      map[role]string
	config      config
	problem     error // of the first graph that could not be opened
}

// config is the used part of onnx-asr's config.json.
type config struct {
	Type        string `json:"model_type"`
	Bands       int    `json:"features_size"`
	Subsampling int    `json:"subsampling_factor"`
	PerFrame    int    `json:"max_tokens_per_step"`
	Longest     int    `json:"max_sequence_length"`
}

// IsModel reports whether path is a recogniser of this package, or one of its files.
func IsModel(path string) bool {
	f, err := find(path)
	return err == nil && (f.layout() != nil || strings.HasPrefix(f.config.Type, "nemo-conformer"))
}

// layout returns the graphs that make the recogniser, or nil.
func (f *found) layout() []role {
	for _, l := range layouts {
		if !slices.ContainsFunc(l, func(r role) bool { return f.graphs[r] == "" }) {
			return l
		}
	}
	return nil
}

// find looks for a recogniser at a path. It opens graphs only in folders with a file of
// tokens.
func find(path string) (*found, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := &found{dir: path, graphs: make(map[role]string)}
	wanted := ""
	if !st.IsDir() {
		f.dir = filepath.Dir(path)
		name := filepath.Base(path)
		if !strings.EqualFold(filepath.Ext(name), ".onnx") && !slices.Contains(tokenFiles, name) {
			return nil, fmt.Errorf("%w: %s is no ONNX graph", ErrFormat, name)
		}
		_, wanted = stem(name)
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]map[string]string) // files by stem and number type
	count := 0
	for _, e := range entries {
		name := e.Name()
		at := filepath.Join(f.dir, name)
		switch {
		case slices.Contains(tokenFiles, name) && f.tokens == "" && areTokens(at):
			f.tokens = at
		case strings.EqualFold(filepath.Ext(name), ".onnx"):
			s, number := stem(name)
			if byName[s] == nil {
				byName[s] = make(map[string]string)
			}
			byName[s][number] = at
			count++
		}
	}
	if f.tokens == "" || count == 0 || count > mostGraphs {
		return nil, fmt.Errorf("%w: no graphs with a file of tokens beside them", ErrFormat)
	}
	if data, err := os.ReadFile(filepath.Join(f.dir, "config.json")); err == nil && len(data) < 1<<20 {
		_ = json.Unmarshal(data, &f.config) // what is not onnx-asr's says nothing
	}
	f.choose(byName, wanted)
	return f, nil
}

// stem takes extension and number type off a file's name.
func stem(name string) (s, number string) {
	s = strings.TrimSuffix(name, filepath.Ext(name))
	if m := suffix().FindStringSubmatch(s); m != nil {
		return m[1], m[2]
	}
	return s, ""
}

// choose finds the roles of the graphs, each in the number type that is wanted, or the
// best there is.
func (f *found) choose(byName map[string]map[string]string, wanted string) {
	for _, s := range slices.Sorted(maps.Keys(byName)) {
		for _, number := range append([]string{wanted}, preferred...) {
			at := byName[s][number]
			if at == "" {
				continue
			}
			r, err := roleOf(at)
			if err != nil {
				r = stems[s]
				if f.problem == nil && r != none {
					f.problem = fmt.Errorf("%s: %w", filepath.Base(at), err)
				}
			}
			if r != none && f.graphs[r] == "" {
				f.graphs[r] = at
				if r == encoding || r == labelling {
					f.number = number
				}
			}
			break
		}
	}
}

// roleOf finds the role of a graph by its inputs and outputs.
func roleOf(path string) (role, error) {
	m, err := fonnx.Open(path)
	if err != nil {
		return none, err
	}
	defer m.Close()
	if t := m.Meta["model_type"]; t != "" && !strings.HasPrefix(t, "EncDec") {
		return none, nil // sherpa-onnx runs other families too
	}
	return roleIn(m.Graph), nil
}

// roleIn compares the inputs and outputs of a graph with those of every role.
func roleIn(g *fonnx.Graph) role {
	in, out := g.Asked(), g.Outputs
	is := func(i int, rank int, whole bool) bool {
		if i >= len(in) || in[i].Type.Kind != fonnx.KindTensor {
			return false
		}
		t := &in[i].Type
		return (t.Dims == nil || len(t.Dims) == rank) && isFloat(t.Elem) != whole
	}
	rank := func(i, n int) bool { return len(out) > i && (out[i].Type.Dims == nil || len(out[i].Type.Dims) == n) }
	switch {
	case len(in) == 2 && is(0, 3, false) && is(1, 1, true) && rank(0, 3):
		if len(out) == 1 {
			return labelling
		}
		return encoding
	case len(in) == 2 && is(0, 3, false) && is(1, 3, false) && rank(0, 4):
		return joiner
	case len(in) == 4 && is(0, 2, true) && is(1, 1, true) && is(2, 3, false) && is(3, 3, false) && rank(0, 3) && len(out) == 4:
		return predictor
	case len(in) == 5 && is(0, 3, false) && is(1, 2, true) && is(2, 1, true) && is(3, 3, false) && is(4, 3, false) && rank(0, 4) && len(out) == 4:
		return combined
	case len(in) == 4 && is(0, 2, true) && is(1, 3, false) && is(2, 2, true) && is(3, 4, false) && rank(0, 3) && len(out) == 2:
		return attending
	case len(in) > 3 && is(0, 2, true) && is(len(in)-2, 3, false) && is(len(in)-1, 2, true) && rank(0, 3) && len(out) == len(in)-2:
		for i := 1; i < len(in)-2; i++ {
			if !is(i, 3, false) {
				return none
			}
		}
		return attending
	}
	return none
}

func isFloat(d fonnx.DType) bool {
	return d == fonnx.Float || d == fonnx.Float16 || d == fonnx.BFloat16 || d == fonnx.Double
}
