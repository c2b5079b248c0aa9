package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"quern/formats/weights"
)

// peftHalves are how names of tensors end in adapters of Hugging Face's PEFT: Linear's
// are A (rank, in) and B (out, rank), a lookup's A is (rank, vocab).
var peftHalves = []struct {
	end         string
	isA, lookup bool
}{
	{".lora_A.weight", true, false}, {".lora_B.weight", false, false},
	{".lora_A.default.weight", true, false}, {".lora_B.default.weight", false, false},
	{".lora_embedding_A", true, true}, {".lora_embedding_B", false, true},
	{".lora_embedding_A.default", true, true}, {".lora_embedding_B.default", false, true},
}

// peftChanges reads an adapter as PEFT writes it, in GGUF's terms. Its changes go the way
// that the weights of the model's own file, of, went, or would have gone to become a GGUF
// file.
func peftChanges(file, of *weights.Set, s *sites) ([]lowRank, error) {
	c, err := readPEFT(file.Meta.String("hf.adapter_config"))
	if err != nil {
		return nil, err
	}
	all, lookups := newUnpaired(), make(map[string]bool)
	for t := range file.All() {
		name := strings.TrimPrefix(t.Name, "base_model.model.")
		i := slices.IndexFunc(peftHalves, func(h struct {
			end         string
			isA, lookup bool
		}) bool {
			return strings.HasSuffix(name, h.end)
		})
		if i < 0 {
			if strings.HasSuffix(name, ".base_layer.weight") {
				continue // a copy of what is changed
			}
			return nil, errNoHalf(t.Name)
		}
		h := peftHalves[i]
		name = strings.TrimSuffix(name, h.end)
		lookups[name] = lookups[name] || h.lookup
		if err := all.add(name, h.isA, t); err != nil {
			return nil, err
		}
	}
	list, err := all.whole()
	if err != nil {
		return nil, err
	}
	to, err := newPEFTNames(of, s.b)
	if err != nil {
		return nil, err
	}
	var out []lowRank
	experts := make(map[string]*stackedChange)
	for _, x := range list {
		if stack, ok, err := to.parameter(x, c, s); ok || err != nil {
			if err != nil {
				return nil, err
			}
			out = append(out, stack)
			continue
		}
		if x.scale, err = c.scale(x.name, x.rank()); err != nil {
			return nil, err
		}
		x.turned = lookups[x.name]
		made, expert, err := to.translate(x)
		if err != nil {
			return nil, err
		}
		if expert < 0 {
			out = append(out, made...)
		} else if err := addExpert(experts, made[0], expert, s.b.c.Experts); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(experts)) {
		out = append(out, experts[name].whole())
	}
	return out, nil
}

// A peftConfig is adapter_config.json.
type peftConfig struct {
	Type    string   `json:"peft_type"`
	Rank    int      `json:"r"`
	Alpha   *float64 `json:"lora_alpha"`
	Root    bool     `json:"use_rslora"` // alpha is divided by the root of the rank
	Bias    any      `json:"bias"`
	Start   any      `json:"init_lora_weights"`
	Ranks   byModule `json:"rank_pattern"`
	Alphas  byModule `json:"alpha_pattern"`
	Wrapped any      `json:"fan_in_fan_out"` // how the changed matrix lies, not its change
	Version string   `json:"peft_version"`
}

// peftHarmless are keys that say how an adapter was trained, or what its tensors say too.
var peftHarmless = []string{
	"auto_mapping", "base_model_name_or_path", "revision", "inference_mode", "task_type", "peft_version",
	"target_modules", "exclude_modules", "layers_to_transform", "layers_pattern", "lora_dropout",
	"megatron_config", "megatron_core", "loftq_config", "eva_config", "corda_config", "lora_ga_config", "runtime_config",
	"qalora_group_size", "ensure_weight_tying", "target_parameters",
	"peft_type", "r", "lora_alpha", "use_rslora", "bias", "init_lora_weights", "rank_pattern", "alpha_pattern", "fan_in_fan_out",
}

// peftAdvice is why some keys are refused.
var peftAdvice = map[string]string{
	"use_dora":                "DoRA scales columns beside the low-rank change",
	"modules_to_save":         "whole modules were trained beside the low-rank change",
	"trainable_token_indices": "rows of the embedding were trained beside the low-rank change",
	"lora_bias":               "biases were trained beside the low-rank change",
	"layer_replication":       "layers occur several times",
	"alora_invocation_tokens": "an activated LoRA holds from some tokens on only",
}

// readPEFT refuses by name what changes more than matrices by low rank.
func readPEFT(text string) (*peftConfig, error) {
	bad := func(err error) (*peftConfig, error) {
		return nil, fmt.Errorf("%w: adapter_config.json: %v", ErrFormat, err)
	}
	if text == "" {
		return nil, fmt.Errorf("%w: no adapter_config.json beside the adapter's SafeTensors file", ErrFormat)
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		return bad(err)
	}
	c := new(peftConfig)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return bad(err)
	}
	if c.Type != "LORA" {
		return nil, fmt.Errorf("%w: an adapter of peft_type %.100q; quern knows LORA", ErrUnsupported, c.Type)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if v := keys[key]; !slices.Contains(peftHarmless, key) && !off(v) {
			why := "that might change what it computes"
			if a := peftAdvice[key]; a != "" {
				why = a
			}
			return nil, fmt.Errorf("%w: adapter_config.json: %.100s of %.100s: %s; merge the adapter into its model", ErrUnsupported, key, fmt.Sprint(v), why)
		}
	}
	if c.Bias != nil && c.Bias != "none" {
		return nil, fmt.Errorf("%w: adapter_config.json: bias of %.100s: biases were trained beside the low-rank change; merge the adapter into its model", ErrUnsupported, fmt.Sprint(c.Bias))
	}
	switch v := c.Start.(type) {
	case nil, bool:
	case string:
		if !slices.Contains([]string{"gaussian", "eva", "orthogonal"}, v) {
			return nil, fmt.Errorf("%w: adapter_config.json: init_lora_weights of %.100q changes the model the adapter belongs to; save it as a change of the original one", ErrUnsupported, v)
		}
	default:
		return bad(fmt.Errorf("init_lora_weights is %v", v))
	}
	switch {
	case c.Rank < 1 || c.Rank > maxRank:
		return bad(fmt.Errorf("r is %d, want 1 to %d", c.Rank, maxRank))
	case c.Alpha == nil:
		return bad(fmt.Errorf("lora_alpha is missing"))
	}
	return c, nil
}

// off reports whether a key's value switches off what it stands for.
func off(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// scale is what the change of a module is multiplied with. Its rank has to be what the
// configuration says.
func (c *peftConfig) scale(module string, rank int) (float64, error) {
	r, err := c.Ranks.of(module, float64(c.Rank))
	if err != nil {
		return 0, err
	}
	alpha, err := c.Alphas.of(module, *c.Alpha)
	if err != nil {
		return 0, err
	}
	if r != float64(rank) {
		return 0, fmt.Errorf("%w: the change of %.100q is of rank %d, and adapter_config.json says %g", ErrFormat, module, rank, r)
	}
	if c.Root {
		r = math.Sqrt(r)
	}
	return alpha / r, nil
}

// byModule gives some modules a number of their own, by regular expressions that the end
// of a module's name matches: the first counts.
type byModule []struct {
	match *regexp.Regexp
	value float64
}

// UnmarshalJSON reads an object in its order.
func (m *byModule) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("a pattern is %v, want an object", t)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value float64
		if err := d.Decode(&value); err != nil {
			return err
		}
		match, err := regexp.Compile(`^(?:(?:.*\.)?(?:` + key.(string) + `))$`)
		if err != nil {
			return fmt.Errorf("pattern %.100q: %v", key, err)
		}
		*m = append(*m, struct {
			match *regexp.Regexp
			value float64
		}{match, value})
	}
	return nil
}

func (m byModule) of(module string, def float64) (float64, error) {
	for _, p := range m {
		if p.match.MatchString(module) {
			def = p.value
			break
		}
	}
	if math.IsNaN(def) || math.IsInf(def, 0) {
		return 0, fmt.Errorf("%w: adapter_config.json gives %.100q the number %g", ErrFormat, module, def)
	}
	return def, nil
}

// peftNames turns names and rows of Hugging Face's into those of a model.
type peftNames struct {
	families []translation // of which the first that knows a name counts
}

func newPEFTNames(of *weights.Set, m *base) (*peftNames, error) {
	if of.Source == weights.SafeTensors && of.Meta.String("general.architecture") == "" {
		c, f, meta, _, err := hfMeta(of)
		if err != nil {
			return nil, err
		}
		c.m = maps.Clone(c.m)
		delete(c.m, "tie_word_embeddings") // a tied output may be changed by itself
		if c.kind == "gpt2" {
			f.change = nil // its matrices lie the other way round, what changes them as everywhere
		}
		return &peftNames{[]translation{{c: c, f: f, to: &weights.Set{Meta: *meta}}}}, nil
	}
	if m.c.Arch == "falcon-h1" {
		return nil, fmt.Errorf("%w: an adapter as SafeTensors for a GGUF file of falcon-h1, whose weights are multiplied by numbers that the file does not have; convert the adapter to GGUF", ErrUnsupported)
	}
	n := new(peftNames)
	for _, kind := range slices.Sorted(maps.Keys(hfFamilies())) {
		if f := hfFamilies()[kind]; f.arch == m.c.Arch || slices.Contains(f.others, m.c.Arch) {
			f.arch = m.c.Arch
			c := &hfConfig{kind: kind, arch: f.arch, m: map[string]any{"new_decoder_architecture": true, "num_kv_heads": int64(m.c.KVHeads)}} // for falcon's rows
			if kind == "gpt2" {
				f.change = nil
			}
			n.families = append(n.families, translation{c: c, f: f, to: &weights.Set{Meta: m.set.Meta}})
		}
	}
	if len(n.families) == 0 {
		return nil, fmt.Errorf("%w: an adapter as SafeTensors for architecture %s; convert it to GGUF", ErrUnsupported, m.c.Arch)
	}
	return n, nil
}

// columned are tensors whose columns SafeTensors and GGUF files have in different orders.
var columned = map[string]bool{"qwen35.ssm_out.weight": true, "qwen35moe.ssm_out.weight": true}

// translate takes a change as the weights it changes are translated, and says of which expert
// it is, -1 for none. What turns, cuts or multiplies rows does so with B, whose rows are those
// of the product.
func (n *peftNames) translate(x lowRank) ([]lowRank, int, error) {
	var first error
	for _, f := range n.families {
		tr := f
		tr.from, tr.to, tr.stacks = new(weights.Set), &weights.Set{Source: weights.SafeTensors, Meta: f.to.Meta}, make(map[string]*stack)
		name, expert, err := tr.name(x.name + ".weight")
		switch {
		case err != nil:
			if first == nil {
				first = err
			}
			continue
		case name == "":
			return nil, -1, nil // of a part that quern leaves out
		case expert >= 0 && strings.Contains(name, "_exps."):
			x.to = name
			return []lowRank{x}, expert, nil
		case name == "output.weight" && tr.f.arch == "bailingmoe" && tr.c.m["norm_head"] != false:
			return nil, -1, fmt.Errorf("%w: the adapter changes %.100s, whose columns are brought to one length before they are used; train it without, or merge it into the model", ErrUnsupported, x.name)
		case expert >= 0 || strings.HasSuffix(name, ".attn_kv_b.weight"):
			return nil, -1, fmt.Errorf("%w: the adapter changes %.100s, which is no matrix that rows are multiplied with; train it without, or merge it into the model", ErrUnsupported, x.name)
		}
		half := &x.b
		_, short, _ := strings.Cut(strings.TrimPrefix(name, "blk."), ".")
		if columned[tr.f.arch+"."+short] {
			half = &x.a
		}
		if err := tr.add(alias(x.name+".weight", *half)); err != nil {
			return nil, -1, err
		}
		var out []lowRank
		for t := range tr.to.All() {
			made := x
			made.to = t.Name
			if len(t.Shape) == 1 {
				t.Shape = []int{1, t.Shape[0]}
			}
			if half == &x.b {
				made.b = t
			} else {
				made.a = t
			}
			out = append(out, made)
		}
		return out, -1, nil
	}
	return nil, -1, first
}
