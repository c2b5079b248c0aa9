package model

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"quern/formats/weights"
)

// A file is a Set as an architecture reads it. It notes which keys and tensors
// were asked for. What an architecture understands is thus what it reads, and
// a file that says more is refused by name: a key or a tensor that changes what
// the model computes must not be passed over.
type file struct {
	*weights.Set
	prefix  string // of the architecture's keys: "llama."
	keys    map[string]bool
	tensors map[string]bool
	unsaid  map[string]weights.Value // of keys that are absent
	scores  bool                     // its cls tensors score pairs of texts
	drafts  [2]int                   // layers from one up to another that only draft; see ggufConfig
}

func newFile(set *weights.Set, arch string) *file {
	return &file{Set: set, prefix: arch + ".", keys: make(map[string]bool), tensors: make(map[string]bool), unsaid: unsaid(set, arch)}
}

// value finds a key of the architecture, by its other name where it is absent.
// A file that has both under different values is refused as one with a key
// that is not known.
func (f *file) value(key string) (weights.Value, bool) {
	f.keys[key] = true
	v, ok := f.Meta.Lookup(f.prefix + key)
	if other := otherNames[key]; other != "" {
		w, has := f.Meta.Lookup(f.prefix + other)
		if has && (!ok || reflect.DeepEqual(v, w)) {
			f.keys[other] = true
			return w, true
		}
	}
	if !ok {
		v, ok = f.unsaid[key]
	}
	return v, ok
}

// Tensor is weights.Set's.
func (f *file) Tensor(name string) (*weights.Tensor, bool) {
	f.tensors[name] = true
	return f.Set.Tensor(name)
}

// has reports whether there is a tensor of that name.
func (f *file) has(name string) bool {
	_, ok := f.Tensor(name)
	return ok
}

// unread refuses the first key and the first tensor that were not asked for.
func (f *file) unread() error {
	arch := strings.TrimSuffix(f.prefix, ".")
	for name, v := range f.Meta.All() {
		key, own := strings.CutPrefix(name, f.prefix)
		if !own || f.keys[key] || harmless(key, v) {
			continue
		}
		return fmt.Errorf("%w: key %.100q = %.100s is none that quern knows in a model of architecture %s: passing it over might give wrong output; use a file without it, or a newer quern",
			ErrUnsupported, name, fmt.Sprint(v), arch)
	}
	for t := range f.Set.All() {
		if f.tensors[t.Name] || f.idle(t.Name) {
			continue
		}
		return fmt.Errorf("%w: tensor %.100q is none that quern knows in a model of architecture %s: passing it over might give wrong output; use a file without it, or a newer quern",
			ErrUnsupported, t.Name, arch)
	}
	return nil
}

// harmlessKeys say nothing that a text's tokens or its embedding depend on.
var harmlessKeys = map[string]bool{
	"vocab_size":                       true, // the rows of the embedding say so
	"attention.layer_norm_epsilon":     true, // of the kind of norm the architecture does not have;
	"attention.layer_norm_rms_epsilon": true, // converters write both where config.json has both
	"rope.scaling.finetuned":           true, // how the model was trained; granite reads it
	"classifier.output_labels":         true, // names; a pooling by a classifier is refused
	"normalize_embeddings":             true, // a request for a vector reports whether its length is 1
	"rope.dimension_sections":          true, // of positions in images; text has one position for all
	"rope.mrope_section":               true, // the same, of Ollama's files
	"deepstack_mapping":                true, // where features of images are added
	"n_deepstack_layers":               true, // how many layers they are added to
}

// harmlessParts begin the keys of image and audio encoders in one file with a text
// model. Quern gives such models text only.
var harmlessParts = []string{"vision.", "audio.", "mm."}

// neutral are values that switch a feature off. A key that has one may go unread.
var neutral = map[string][]any{
	"attention.causal":                  {true},
	"attention.clamp_kqv":               {0.0},
	"attention.max_alibi_bias":          {0.0},
	"attention.scale":                   {0.0},
	"attention.sliding_window":          {int64(0)},
	"attn_logit_softcapping":            {0.0},
	"final_logit_softcapping":           {0.0},
	"router_logit_softcapping":          {0.0},
	"embedding_scale":                   {0.0, 1.0},
	"residual_scale":                    {0.0, 1.0},
	"logit_scale":                       {0.0, 1.0},
	"expert_count":                      {int64(0)},
	"expert_used_count":                 {int64(0)},
	"expert_feed_forward_length":        {int64(0)},
	"expert_shared_count":               {int64(0)},
	"expert_shared_feed_forward_length": {int64(0)},
	"expert_group_count":                {int64(0), int64(1)},
	"expert_group_used_count":           {int64(0), int64(1)},
	"expert_weights_scale":              {0.0, 1.0},
	"leading_dense_block_count":         {int64(0)},
	"rope.scaling.alpha":                {0.0},
	"rope.scaling.yarn_log_multiplier":  {0.0},
	// How an old file's rows lie: as all files of these architectures have them.
	"tensor_data_layout": {"jploski", "Meta AI original pth"},
}

func harmless(key string, v weights.Value) bool {
	if harmlessKeys[key] {
		return true
	}
	for _, p := range harmlessParts {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return slices.ContainsFunc(neutral[key], func(off any) bool { return v == off })
}

// sees reports whether a tensor encodes images or sound, or brings them to the text model.
func sees(name string) bool {
	return slices.ContainsFunc([]string{"v.", "a.", "mm."}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// idle reports whether tokens and embeddings do not depend on a tensor: what
// encodes images and sound and brings them to the text model; heads of
// classifiers, which only a pooling by their score reads; and layers that
// draft, behind the model's last.
//
// blk.N.attn_rot_embd are the frequencies of rotation that early converters
// wrote, which follow from rope.freq_base; llama.cpp skips them as well.
func (f *file) idle(name string) bool {
	if sees(name) || strings.HasPrefix(name, "cls.") && !f.scores {
		return true
	}
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return false
	}
	number, rest, _ := strings.Cut(rest, ".")
	layer, err := strconv.Atoi(number)
	return err == nil && (layer >= f.drafts[0] && layer < f.drafts[1] || rest == "attn_rot_embd.weight")
}

// otherNames are the keys of files that Ollama's converters wrote, by GGUF's key
// for the same number. Ollama's gemma3, which many have, is such a file.
var otherNames = map[string]string{
	"attention.key_length":         "attention.head_dim",
	"rope.freq_base":               "rope.global.freq_base",
	"rope.freq_base_swa":           "rope.local.freq_base",
	"rope.scaling.yarn_ext_factor": "rope.scaling.extrapolation_factor",
	"rope.scaling.yarn_beta_fast":  "rope.scaling.beta_fast",
	"rope.scaling.yarn_beta_slow":  "rope.scaling.beta_slow",
}

// unsaid are the values of keys that Ollama's gemma3 files leave out, because
// its own engine has them as constants: llama.cpp's files have these keys. Those
// that see images, 4B and larger, stretch positions eightfold.
func unsaid(set *weights.Set, arch string) map[string]weights.Value {
	if arch != "gemma3" {
		return nil
	}
	values := map[string]weights.Value{"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}
	has := func(key string) bool {
		_, ok := set.Meta.Lookup("gemma3." + key)
		return ok
	}
	sees := has("mm.tokens_per_image") || has("vision.block_count")
	if sees && !has("rope.scaling.type") && !has("rope.scaling.factor") {
		values["rope.scaling.type"], values["rope.scaling.factor"] = "linear", 8.0
	}
	return values
}
