package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quern/formats/weights"
)

// Translate returns set in GGUF's terms: its names of keys and tensors, its
// fused and stacked tensors. A GGUF file's Set is returned as it is; a PyTorch
// checkpoint, which does not say what its names mean, and whisper.cpp's models are
// refused. Query and key rows stay in the order of the container, see the result's
// Source.
//
// Tensors alias those of set where they can. Those that have to be put
// together have no Data until set.Fill.
func Translate(set *weights.Set) (*weights.Set, error) {
	switch set.Source {
	case weights.Torch:
		return nil, fmt.Errorf("%w: a PyTorch checkpoint; quern runs only Kokoro's of those: get the model as SafeTensors or GGUF", ErrUnsupported)
	case weights.GGML:
		return nil, fmt.Errorf("%w: a file of whisper.cpp's, which holds no text model", ErrUnsupported)
	}
	if IsAdapter(&set.Meta) {
		return nil, fmt.Errorf("%w: a LoRA adapter, no model by itself: name it under adapters of its model", ErrUnsupported)
	}
	if set.Source != weights.SafeTensors || set.Meta.String("general.architecture") != "" {
		return set, nil
	}
	c, f, meta, extra, err := hfMeta(set)
	if err != nil {
		return nil, err
	}
	tr := &translation{
		from: set, c: c, f: f,
		to:     &weights.Set{Source: set.Source, Meta: *meta},
		stacks: make(map[string]*stack),
	}
	tr.findMTP()
	raws, err := tr.readRaws()
	if err != nil {
		return nil, err
	}
	for t := range set.All() {
		if isScale(t.Name) {
			continue // belongs to another tensor, or to arithmetic in eight bits
		}
		if err := tr.add(t); err != nil {
			return nil, err
		}
	}
	for _, t := range raws {
		if err := tr.add(t); err != nil {
			return nil, err
		}
	}
	if err := tr.finish(); err != nil {
		return nil, err
	}
	for _, t := range extra {
		if err := tr.to.Add(t); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrFormat, err)
		}
	}
	set.OnFill(tr.to.Fill) // models may cut tensors that are not put together yet
	return tr.to, nil
}

// hfGlobal names the tensors outside layers, without ".weight" and ".bias".
var hfGlobal = map[string]string{
	"embed_tokens":                     "token_embd",
	"word_embeddings":                  "token_embd",
	"embeddings.word_embeddings":       "token_embd",
	"embeddings.position_embeddings":   "position_embd",
	"embeddings.token_type_embeddings": "token_types",
	"embeddings.LayerNorm":             "token_embd_norm",
	"emb_ln":                           "token_embd_norm",
	"norm":                             "output_norm",
	"final_layernorm":                  "output_norm",
	"ln_f":                             "output_norm",
	"lm_head":                          "output",
	"embeddings":                       "token_embd",
	"norm_f":                           "output_norm",
	"embedding_norm":                   "token_embd_norm",
	"embed_tokens_per_layer":           "per_layer_token_embd",
	"per_layer_model_projection":       "per_layer_model_proj",
	"per_layer_projection_norm":        "per_layer_proj_norm",
	"altup_projections.0":              "altup_proj/0",
	"altup_projections.1":              "altup_proj/1",
	"altup_projections.2":              "altup_proj/2",
	"altup_unembed_projections.0":      "altup_unembd_proj/0",
	"altup_unembed_projections.1":      "altup_unembd_proj/1",
	"altup_unembed_projections.2":      "altup_unembd_proj/2",
	"embeddings.tok_embeddings":        "token_embd",
	"embeddings.norm":                  "token_embd_norm",
	"final_norm":                       "output_norm",
	"wte":                              "token_embd",
	"wpe":                              "position_embd",
	"tok_embeddings":                   "token_embd",
	"embed_in":                         "token_embd",
	"embed_out":                        "output",
	"output":                           "output",
	"final_layer_norm":                 "output_norm",
	"word_embeddings_layernorm":        "token_embd_norm",
	"embed_positions":                  "position_embd",
	"dense_2.linear":                   "dense_2",
	"dense_3.linear":                   "dense_3",
}

// hfLayer names the tensors of a layer. EXPERT stands for an expert's number;
// such tensors are stacked.
var hfLayer = map[string]string{
	"input_layernorm":                          "attn_norm",
	"self_attn.q_proj":                         "attn_q",
	"self_attn.k_proj":                         "attn_k",
	"self_attn.v_proj":                         "attn_v",
	"self_attn.o_proj":                         "attn_output",
	"self_attn.dense":                          "attn_output",
	"self_attn.qkv_proj":                       "attn_qkv",
	"self_attn.q_norm":                         "attn_q_norm",
	"self_attn.k_norm":                         "attn_k_norm",
	"post_attention_layernorm":                 "ffn_norm",
	"pre_feedforward_layernorm":                "ffn_norm",
	"post_feedforward_layernorm":               "post_ffw_norm",
	"mlp.gate_proj":                            "ffn_gate",
	"mlp.up_proj":                              "ffn_up",
	"mlp.down_proj":                            "ffn_down",
	"mlp.gate_up_proj":                         "ffn_up",
	"mlp.fc1":                                  "ffn_up",
	"mlp.fc2":                                  "ffn_down",
	"mlp.c_fc":                                 "ffn_up",
	"mlp.c_proj":                               "ffn_down",
	"block_sparse_moe.gate":                    "ffn_gate_inp",
	"mlp.gate":                                 "ffn_gate_inp",
	"mlp.shared_expert.gate_proj":              "ffn_gate_shexp",
	"mlp.shared_expert.up_proj":                "ffn_up_shexp",
	"mlp.shared_expert.down_proj":              "ffn_down_shexp",
	"mlp.shared_expert_gate":                   "ffn_gate_inp_shexp",
	"mlp.shared_experts.gate_proj":             "ffn_gate_shexp",
	"mlp.shared_experts.up_proj":               "ffn_up_shexp",
	"mlp.shared_experts.down_proj":             "ffn_down_shexp",
	"mlp.gate.e_score_correction_bias":         "exp_probs_b.bias",
	"mlp.moe_statics.e_score_correction_bias":  "exp_probs_b.bias",
	"block_sparse_moe.e_score_correction_bias": "exp_probs_b.bias",

	"feed_forward.experts.EXPERT.w1":     "ffn_gate_exps",
	"feed_forward.experts.EXPERT.w2":     "ffn_down_exps",
	"feed_forward.experts.EXPERT.w3":     "ffn_up_exps",
	"block_sparse_moe.experts.EXPERT.w1": "ffn_gate_exps",
	"block_sparse_moe.experts.EXPERT.w2": "ffn_down_exps",
	"block_sparse_moe.experts.EXPERT.w3": "ffn_up_exps",
	"mlp.experts.gate_up_proj":           "ffn_gate_up_exps",
	"mlp.experts.down_proj":              "ffn_down_exps",
	"mlp.experts.EXPERT.gate_proj":       "ffn_gate_exps",
	"mlp.experts.EXPERT.down_proj":       "ffn_down_exps",
	"mlp.experts.EXPERT.up_proj":         "ffn_up_exps",

	// Falcon.
	"self_attention.query_key_value": "attn_qkv",
	"self_attention.dense":           "attn_output",
	"mlp.dense_h_to_4h":              "ffn_up",
	"mlp.dense_4h_to_h":              "ffn_down",

	// BERT.
	"attention.self.query":       "attn_q",
	"attention.self.key":         "attn_k",
	"attention.self.value":       "attn_v",
	"attention.output.dense":     "attn_output",
	"attention.output.LayerNorm": "attn_output_norm",
	"intermediate.dense":         "ffn_up",
	"output.dense":               "ffn_down",
	"output.LayerNorm":           "layer_output_norm",

	// nomic-bert, whose second half of the first product is the gate.
	"attn.Wqkv":     "attn_qkv",
	"attn.out_proj": "attn_output",
	"norm1":         "attn_output_norm",
	"norm2":         "layer_output_norm",
	"mlp.fc11":      "ffn_up",
	"mlp.fc12":      "ffn_gate",
}

// A translation is a Set on its way to GGUF's terms.
type translation struct {
	from, to *weights.Set
	c        *hfConfig
	f        hfFamily
	stacks   map[string]*stack
	mtp      int // layers that draft and are kept
}

// A stack is the tensors of one kind of all experts of a layer.
type stack struct {
	parts map[int]*weights.Tensor
}

// name returns what a tensor is called in GGUF files, "" for one that is not
// needed, and the expert it belongs to, or its place in a stack, -1 for none.
func (tr *translation) name(hf string) (name string, expert int, err error) {
	expert = -1
	if to := tr.c.headName(hf); to != "" {
		return to, expert, nil
	}
	if tr.mtp > 0 {
		hf = tr.mtpName(hf)
	}
	if unused(hf) || hasPart(hf, hfSkips[tr.c.kind]) {
		return "", expert, nil
	}
	rest := hf
	for _, p := range hfPrefixes {
		rest = strings.TrimPrefix(rest, p)
	}
	kind := "weight"
	if i := strings.LastIndexByte(rest, '.'); i > 0 && (rest[i+1:] == "weight" || rest[i+1:] == "bias") {
		rest, kind = rest[:i], rest[i+1:]
	}
	if to, ok := hfGlobal[rest]; ok {
		if to == "output" && tr.c.flag("tie_word_embeddings") {
			return "", expert, nil // a copy of the embedding
		}
		if all, at, part := partOf(to); part {
			to, expert = all, at
		}
		return to + "." + kind, expert, nil
	}
	unknown := fmt.Errorf("%w: tensor %.100q is none that quern knows in a model of type %s", ErrUnsupported, hf, tr.c.kind)
	for _, p := range []string{"layers.", "h.", "blocks.", "encoder.layer.", "encoder.layers."} {
		tail, ok := strings.CutPrefix(rest, p)
		if !ok {
			continue
		}
		number, tail, _ := strings.Cut(tail, ".")
		layer, err := strconv.Atoi(number)
		if err != nil || layer < 0 || layer >= maxLayers {
			return "", expert, unknown
		}
		drafts := tr.c.m["num_nextn_predict_layers"] != nil && int64(layer) >= tr.c.int("num_hidden_layers", maxLayers)
		if drafts && tr.mtp == 0 {
			return "", expert, nil
		}
		if before, after, ok := strings.Cut(tail, ".experts."); ok {
			if number, after, one := strings.Cut(after, "."); one { // else all experts are in it
				if expert, err = strconv.Atoi(number); err != nil || expert < 0 || expert >= maxExperts {
					return "", -1, unknown
				}
				tail = before + ".experts.EXPERT." + after
			}
		}
		to, ok := tr.f.names[tail]
		if !ok {
			to, ok = hfLayer[tail]
		}
		if !ok {
			to, ok = mtpNames[tail]
		}
		if !ok && drafts {
			return hf, -1, nil // for OpenMTP to refuse, if it is asked for
		}
		if !ok {
			return "", -1, unknown
		}
		if all, at, part := partOf(to); part {
			if kind != "weight" {
				return "", expert, unknown
			}
			to, expert = all, at
		}
		if strings.HasSuffix(to, ".bias") || strings.HasSuffix(to, ".scale") || to == "ssm_a" || to == "ssm_d" {
			return fmt.Sprintf("blk.%d.%s", layer, to), expert, nil
		}
		return fmt.Sprintf("blk.%d.%s.%s", layer, to, kind), expert, nil
	}
	return "", expert, unknown
}

// partOf takes a name of the tables apart whose number behind a slash is the place in a tensor
// that GGUF files have in one.
func partOf(name string) (all string, at int, ok bool) {
	all, place, ok := strings.Cut(name, "/")
	at, _ = strconv.Atoi(place)
	return all, at, ok
}

func (tr *translation) add(t *weights.Tensor) error {
	name, expert, err := tr.name(t.Name)
	if err != nil || name == "" {
		return err
	}
	if expert >= 0 {
		s := tr.stacks[name]
		if s == nil {
			s = &stack{parts: make(map[int]*weights.Tensor)}
			tr.stacks[name] = s
		}
		if s.parts[expert] != nil {
			return fmt.Errorf("%w: two tensors are %s of expert %d", ErrFormat, name, expert)
		}
		s.parts[expert] = t
		return nil
	}
	to := alias(name, t)
	if tr.f.change != nil {
		if done, err := tr.f.change(tr, to); done || err != nil {
			return err
		}
	}
	if name == "position_embd.weight" && tr.c.offset() > 0 {
		if to, err = behind(to, int(tr.c.offset())); err != nil {
			return err
		}
	}
	if hybridArchs[tr.f.arch] != nil {
		if done, err := tr.changed(to); done || err != nil {
			return err
		}
	}
	switch {
	case tr.f.plusOne && strings.HasSuffix(name, "norm.weight"):
		x, err := t.Floats()
		if err != nil {
			return err
		}
		for i := range x {
			x[i]++
		}
		to = floats(name, x)
		to.Shape = t.Shape
	case tr.f.arch == "falcon" && strings.Contains(name, ".attn_qkv."):
		if err := tr.ungroup(to); err != nil {
			return err
		}
	case tr.f.arch == "gpt-oss" && strings.Contains(name, "_exps."):
		return tr.gptOSSExperts(to)
	case strings.HasSuffix(name, ".attn_kv_b.weight"):
		l := latentOf(tr.c)
		heads := int(tr.c.int("num_attention_heads", 0))
		if tr.c.err != nil {
			return tr.c.err
		}
		if want := []int{heads * (l.nope + l.value), l.rank}; !slices.Equal(t.Shape, want) {
			return fmt.Errorf("%w: tensor %s has shape %v, want %v", ErrFormat, t.Name, t.Shape, want)
		}
		return tr.putBoth(splitKV(to, heads, l))
	case tr.f.arch != "gpt-oss" && tr.f.arch != "llama4" && tr.f.arch != "qwen3vlmoe" && strings.HasSuffix(name, ".ffn_gate_up_exps.weight"):
		return tr.putBoth(splitExperts(to))
	case (tr.f.arch == "llama4" || tr.f.arch == "qwen3vlmoe" && expert < 0) && strings.Contains(name, "_exps."):
		return tr.turnedExperts(to)
	case (tr.c.kind == jinaBert || tr.f.arch == "granite" && tr.c.kind == "granitemoehybrid") && strings.HasSuffix(name, ".ffn_up.weight"):
		return tr.putBoth(gateAndUp(to))
	case (strings.HasSuffix(name, "ffn_gate_inp_shexp.weight") || strings.HasSuffix(name, "exp_probs_b.bias")) && len(t.Shape) == 2 && t.Shape[0] == 1:
		to.Shape = t.Shape[1:] // one row
	}
	return tr.put(to)
}

func (tr *translation) put(t *weights.Tensor) error {
	if err := tr.to.Add(t); err != nil {
		return fmt.Errorf("%w: %v", ErrFormat, err)
	}
	return nil
}

// putBoth adds what a tensor was taken apart into.
func (tr *translation) putBoth(a, b *weights.Tensor, err error) error {
	if err == nil {
		err = tr.put(a)
	}
	if err == nil {
		err = tr.put(b)
	}
	return err
}

// headCounts are those of queries and of keys.
func (tr *translation) headCounts() (heads, kv int64) {
	heads, _ = tr.to.Meta.Int(tr.f.arch + ".attention.head_count")
	kv, ok := tr.to.Meta.Int(tr.f.arch + ".attention.head_count_kv")
	if !ok {
		kv = heads
	}
	return heads, kv
}

// ungroup puts query rows before its key rows and those before its
// value rows. The file has them by key-value head: its query heads, its key
// head, its value head.
func (tr *translation) ungroup(t *weights.Tensor) error {
	heads, kv := tr.headCounts()
	if kv == 1 {
		return nil
	}
	if kv < 1 || heads%kv != 0 || len(t.Shape) == 0 || int64(t.Shape[0])%(heads+2*kv) != 0 {
		return fmt.Errorf("%w: tensor %s has shape %v, for %d heads of %d", ErrFormat, t.Name, t.Shape, heads, kv)
	}
	src := *t
	head := t.Size() / int(heads+2*kv) // bytes of one head's rows
	group := int(heads / kv)
	rearrange(t, &src, func(dst, data []byte) {
		for g := range int(kv) {
			from := data[g*(group+2)*head:]
			copy(dst[g*group*head:], from[:group*head])
			copy(dst[(int(heads)+g)*head:], from[group*head:(group+1)*head])
			copy(dst[(int(heads+kv)+g)*head:], from[(group+1)*head:(group+2)*head])
		}
	})
	return nil
}

// finish stacks the experts: shape (experts, out, in).
func (tr *translation) finish() error {
	if tr.f.arch == "rwkv7" {
		if err := tr.finishRWKV7(); err != nil {
			return err
		}
	}
	if err := tr.yesNo(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(tr.stacks)) {
		parts := tr.stacks[name].parts
		first := parts[0]
		if first == nil {
			return fmt.Errorf("%w: %s of expert 0 is missing", ErrFormat, name)
		}
		list := make([]*weights.Tensor, len(parts))
		for i := range list {
			p := parts[i]
			if p == nil {
				return fmt.Errorf("%w: %s of expert %d is missing", ErrFormat, name, i)
			}
			if p.Type != first.Type || !slices.Equal(p.Shape, first.Shape) {
				return fmt.Errorf("%w: tensors %s and %s differ in type or shape", ErrFormat, first.Name, p.Name)
			}
			list[i] = p
		}
		if err := tr.put(join(name, first.Type, append([]int{len(list)}, first.Shape...), list)); err != nil {
			return err
		}
	}
	return nil
}
