package hub

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"quern/kernels/quant"
)

// A kind is one way repositories hold a model. Patterns are path.Match's, on
// paths from the repository's root.
type kind struct {
	name    string
	needs   []string // each must match a file, or the repository is of another kind
	weights []string // in order of preference: the first pattern with a match counts
	not     []string // what weights match by accident
	label   func(stem string) (rest, label string)
	merge   bool     // files that differ in rest alone belong together: encoder and decoder
	fill    bool     // of those that another type lacks the plain ones are taken
	several bool     // a repository holds models of different sizes
	folder  bool     // the folder is the model, not the file
	beside  []string // what comes along when it is there
	unused  string   // why quern does nothing with it; "" where it does
}

// Files that tell how text becomes tokens.
var tokenizer = []string{"tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json",
	"added_tokens.json", "vocab.json", "vocab.txt", "tokens.txt", "merges.txt", "rwkv_vocab_*.txt", "chat_template.jinja", "chat_template.json"}

// kinds is the table of what quern pulls. Where a repository holds a model
// twice, the kind named first counts.
var kinds = []kind{
	{
		name:    "gguf",
		weights: []string{"*.gguf", "*/*.gguf", "*/*/*.gguf"},
		not:     []string{"*mmproj*", "*imatrix*"}, // projectors for images; statistics for quantisers
		label:   ggmlLabel,
	},
	{
		name:    "kokoro",
		needs:   []string{"voices/*"},
		weights: []string{"*.safetensors", "*.pth"},
		label:   onnxLabel,
		folder:  true,
		beside:  []string{"config.json", "tokenizer.json", "tokenizer_config.json", "voices/*.bin", "voices/*.pt", "voices/*.safetensors"},
	},
	{
		name:    "kokoro",
		needs:   []string{"voices/*"},
		weights: []string{"onnx/*.onnx", "*.onnx"},
		label:   onnxLabel,
		folder:  true,
		unused:  "holds Kokoro as ONNX graphs, with which quern does not speak; pull hexgrad/Kokoro-82M",
	},
	{
		// Text models, encoders and Whisper.
		name:    "safetensors",
		needs:   []string{"config.json"},
		weights: []string{"model-*-of-*.safetensors", "model.safetensors", "*.safetensors"},
		not:     []string{"adapter_*"}, // of no use without another repository
		label:   noLabel,
		folder:  true,
		beside: append([]string{"config.json", "*.safetensors.index.json", "generation_config.json",
			"preprocessor_config.json", "normalizer.json", "modules.json", "sentence_bert_config.json",
			"config_sentence_transformers.json", "1_Pooling/config.json",
			"*_Dense/config.json", "*_Dense/model.safetensors", "*_LogitScore/config.json"}, tokenizer...),
	},
	{
		// Parakeet and Canary as onnx-asr names their graphs.
		name:    "nemo",
		needs:   []string{"vocab.txt", "encoder-model.*onnx"},
		weights: []string{"*-model.*onnx"},
		label:   onnxLabel,
		merge:   true,
		fill:    true,
		folder:  true,
		beside:  []string{"vocab.txt", "config.json"},
	},
	{
		// And as sherpa-onnx does: encoder, decoder, joiner.
		name:    "nemo",
		needs:   []string{"tokens.txt", "encoder.*onnx"},
		weights: []string{"*er.*onnx"},
		label:   onnxLabel,
		merge:   true,
		fill:    true,
		folder:  true,
		beside:  []string{"tokens.txt"},
	},
	{
		name:    "onnx",
		weights: []string{"onnx/*.onnx", "*.onnx"},
		label:   onnxLabel,
		merge:   true,
		folder:  true,
		beside: append([]string{"config.json", "generation_config.json", "preprocessor_config.json",
			"normalizer.json", "quantize_config.json", "modules.json", "sentence_bert_config.json",
			"config_sentence_transformers.json", "1_Pooling/config.json"}, tokenizer...),
	},
	{
		// whisper.cpp's files.
		name:    "ggml",
		weights: []string{"ggml-*.bin"},
		label:   ggmlLabel,
		several: true,
	},
}

// preferred lists quantisations from the one to take when none is named; a file
// whose name has none ("") comes before F32 only. Four to five bits a weight keep
// nearly all of a model's quality at the least size.
var preferred = func() []string {
	names := map[int]string{}
	for _, m := range quant.Mixtures() {
		if m.Choice > 0 {
			names[m.Choice] = m.Name
		}
	}
	var order []string
	for _, c := range slices.Sorted(maps.Keys(names)) {
		order = append(order, names[c])
	}
	return slices.Insert(order, len(order)-1, "")
}()

// preferredONNX starts with what other programs take: the plain export.
var preferredONNX = []string{"F32", "F16", "Q8", "QUANTIZED", "INT8", "UINT8", "Q4F16", "Q4", "BNB4"}

func (k *kind) preferred() []string {
	if k.name == "onnx" || k.name == "kokoro" || k.name == "nemo" {
		return append([]string{""}, preferredONNX...)
	}
	return preferred
}

var (
	ggmlType  = lazy(`(?i)(?:^|_)(I?Q[1-8](?:_[0-9A-Z]+)*|TQ[12]_0|BF16|FP?16|FP?32|MXFP4(?:_MOE)?|NVFP4)$`)
	onnxType  = lazy(`(?i)[._](fp16|fp32|q[248]|q4f16|q8f16|u?int8|uint8f16|bnb4|quantized|O[1-4]|qu?int8(?:_[0-9a-z]+)*)$`)
	shardName = lazy(`^(.*)-(\d{5})-of-(\d{5})$`)
)

// lazy compiles an expression when it is first used.
func lazy(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// ggmlLabel finds the quantisation in a file name without extension, in its
// last part that is one: "Llama-3.2-1B-Q4_K_M", "x.q8_0", "a/UD-Q4_K_XL/b".
func ggmlLabel(stem string) (rest, label string) {
	dir, base := path.Split(stem)
	rest, label = lastType(base)
	if label == "" {
		if _, label = lastType(path.Base(dir)); label != "" {
			return stem, label
		}
	}
	return dir + rest, label
}

func lastType(base string) (rest, label string) {
	end := len(base)
	for end > 0 {
		start := strings.LastIndexAny(base[:end], "-.") + 1
		if m := ggmlType().FindStringSubmatchIndex(base[start:end]); m != nil {
			label = strings.ToUpper(base[start+m[2] : end])
			rest = base[:start+m[2]]
			if ud, ok := cutSuffixFold(rest, "UD-"); ok {
				label, rest = "UD-"+label, ud
			}
			if label == "FP16" || label == "FP32" {
				label = "F" + label[2:]
			}
			return strings.TrimRight(rest, "-._") + base[end:], label
		}
		end = start - 1
	}
	return base, ""
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// onnxLabel knows the suffixes exporters give; a file without is F32.
func onnxLabel(stem string) (rest, label string) {
	if m := onnxType().FindStringSubmatchIndex(stem); m != nil {
		label = strings.ToUpper(stem[m[2]:])
		if label == "FP16" || label == "FP32" {
			label = "F" + label[2:]
		}
		return stem[:m[0]], label
	}
	return stem, "F32"
}

func noLabel(stem string) (rest, label string) { return stem, "" }

// A File is one file of a repository. It has one of the hashes, unless the hub
// did not say.
type File struct {
	Path   string
	Size   int64  // −1 when the hub did not say
	SHA256 string // hex; of files in large-file storage
	Blob   string // hex; git's SHA-1 of small ones
}

// A variant is one model of a repository: all its shards, and what it needs.
type variant struct {
	kind   *kind
	label  string
	rest   string // the name without label, shard number and extension
	files  []File // weights, sorted by path
	beside []File
	parts  int // shards there should be
}

// complete reports whether every shard is there.
func (v *variant) complete() bool { return v.parts == 0 || v.parts == len(v.files) }

// all lists every file, small ones first and files that others point to before
// them, so that what starts a model comes last.
func (v *variant) all() []File {
	out := slices.Clone(v.beside)
	var mains []File
	for _, f := range v.files {
		if isData(f.Path) {
			out = append(out, f)
		} else {
			mains = append(mains, f)
		}
	}
	return append(out, mains...)
}

// isData recognises the tensors an ONNX file keeps in a file of its own.
func isData(p string) bool {
	base := path.Base(p)
	return strings.Contains(base, ".onnx_data") || strings.HasSuffix(base, ".onnx.data") || strings.HasSuffix(base, ".weights")
}

// variants finds the models in files, of every kind, in the order of kinds.
func variants(files []File) []*variant {
	var out []*variant
	for i := range kinds {
		out = append(out, kinds[i].variants(files)...)
	}
	return out
}

func (k *kind) variants(files []File) []*variant {
	for _, need := range k.needs {
		if !slices.ContainsFunc(files, func(f File) bool { return match(need, f.Path) }) {
			return nil
		}
	}
	var found []File
	for _, w := range k.weights {
		for _, f := range files {
			base := path.Base(f.Path)
			if match(w, f.Path) && !slices.ContainsFunc(k.not, func(n string) bool { return match(n, strings.ToLower(base)) }) &&
				!slices.ContainsFunc(found, func(g File) bool { return g.Path == f.Path }) {
				found = append(found, f)
			}
		}
		if len(found) > 0 && k.name != "gguf" { // GGUF files of every depth are alternatives
			break
		}
	}
	var beside []File
	for _, f := range files {
		if slices.ContainsFunc(k.beside, func(b string) bool { return match(b, f.Path) }) &&
			!slices.ContainsFunc(found, func(g File) bool { return g.Path == f.Path }) {
			beside = append(beside, f)
		}
	}
	type key struct {
		rest, label string
		parts       int
	}
	index := map[key]*variant{}
	var out []*variant
	slices.SortFunc(found, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range found {
		stem, parts := shardStem(f.Path)
		rest, label := k.label(stem)
		if k.merge {
			rest = path.Dir(f.Path)
		}
		id := key{rest, label, parts}
		v := index[id]
		if v == nil {
			v = &variant{kind: k, label: label, rest: rest, beside: beside, parts: parts}
			index[id] = v
			out = append(out, v)
		}
		v.files = append(v.files, f)
	}
	for _, v := range out {
		if k.fill {
			v.fill(out)
		}
		v.addData(files)
	}
	return out
}

// fill adds the plain files of those that v lacks in its own type.
func (v *variant) fill(all []*variant) {
	name := func(f File) string {
		stem, _ := shardStem(f.Path)
		rest, _ := v.kind.label(stem)
		return rest
	}
	for _, plain := range all {
		if plain == v || plain.label != "F32" || plain.rest != v.rest {
			continue
		}
		for _, f := range plain.files {
			if strings.HasSuffix(f.Path, ".onnx") && !slices.ContainsFunc(v.files, func(g File) bool { return name(g) == name(f) }) {
				v.files = append(v.files, f)
			}
		}
	}
}

// addData adds the files ONNX graphs keep their tensors in.
func (v *variant) addData(files []File) {
	for _, f := range files {
		if !isData(f.Path) {
			continue
		}
		for _, w := range v.files {
			if strings.HasSuffix(w.Path, ".onnx") && (strings.HasPrefix(f.Path, w.Path) || f.Path == strings.TrimSuffix(w.Path, ".onnx")+".weights") {
				v.files = append(v.files, f)
				break
			}
		}
	}
}

// narrow keeps the file at p, and what belongs to it alone. Of kinds whose files are of no
// use alone it keeps all.
func (v *variant) narrow(p string, files []File) *variant {
	if !v.kind.merge || v.kind.fill {
		return v
	}
	n := *v
	n.files = nil
	for _, f := range v.files {
		if f.Path == p {
			n.files = append(n.files, f)
		}
	}
	n.addData(files)
	return &n
}

// shardStem is the path without its extension and shard number, and how many
// shards there are, 0 when it is none.
func shardStem(p string) (stem string, parts int) {
	stem = strings.TrimSuffix(p, path.Ext(p))
	m := shardName().FindStringSubmatch(stem)
	if m == nil {
		return stem, 0
	}
	for _, c := range m[3] {
		parts = parts*10 + int(c-'0')
	}
	return m[1], parts
}

func match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
