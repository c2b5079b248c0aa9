package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"quern/formats/weights"
)

// Kinds of encoders that config.json gives the model_type of another model. They can be
// written as a model_type as well.
const (
	gemmaEncoder = "gemma3_embedding" // a gemma3_text with use_bidirectional_attention
	jinaBert     = "jina_bert_v2"     // a bert with position_embedding_type alibi
)

// encoderKind finds those.
func (c *hfConfig) encoderKind() {
	switch {
	case c.kind == "gemma3_text" && c.flag("use_bidirectional_attention"):
		c.kind = gemmaEncoder
	case c.kind == "bert" && c.m["position_embedding_type"] == "alibi":
		c.kind = jinaBert
	}
}

// jinaNames: the first half of the first product is the gate.
var jinaNames = map[string]string{
	"mlp.gated_layers": "ffn_up",
	"mlp.wo":           "ffn_down",
	"mlp.layernorm":    "layer_output_norm",
}

// gateAndUp cuts an ffn_up whose first rows are those of ffn_gate.
func gateAndUp(w *weights.Tensor) (gate, up *weights.Tensor, err error) {
	if len(w.Shape) != 2 || w.Shape[0]%2 != 0 {
		return nil, nil, fmt.Errorf("%w: tensor %s has shape %v, want (2·width, in)", ErrFormat, w.Name, w.Shape)
	}
	n := w.Shape[0] / 2
	return rowsOf(strings.Replace(w.Name, "ffn_up", "ffn_gate", 1), w, 0, n), rowsOf(w.Name, w, n, n), nil
}

var modernBertNames = map[string]string{
	"attn.Wo":   "attn_output",
	"attn_norm": "attn_norm",
	"mlp_norm":  "ffn_norm",
	"mlp.Wi":    "ffn_up", // the first half is the gate
	"mlp.Wo":    "ffn_down",
}

// What published ModernBERT files rely on.
var modernBertDefaults = map[string]any{
	"global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "local_attention": int64(128), "global_attn_every_n_layers": int64(3),
	"max_position_embeddings": int64(8192),
}

func modernBertConfig(c *hfConfig, put func(string, any)) {
	put("attention.sliding_window", c.int("local_attention", 0))
	if _, ok := c.m["layer_types"].([]any); ok {
		layerWindows(3)(c, put)
	} else {
		put("attention.sliding_window_pattern", c.int("global_attn_every_n_layers", 3))
	}
	local := c.m["local_rope_theta"]
	if r, ok := c.rope["sliding_attention"].(map[string]any); ok && r["rope_theta"] != nil {
		local = r["rope_theta"]
	}
	put("rope.freq_base_swa", local)
	if act, ok := c.m["hidden_activation"].(string); ok {
		put("hidden_activation", act)
	}
}

// offset is how many rows of positions come before the first's: RoBERTa and what came of
// it count from behind the number of the token that pads.
func (c *hfConfig) offset() int64 {
	switch c.kind {
	case "xlm-roberta", "roberta", "camembert":
		return c.int("pad_token_id", 1) + 1
	case "opt":
		return 2
	}
	return 0
}

func offsetPositions(c *hfConfig, put func(string, any)) {
	n, off := c.int("max_position_embeddings", 512), c.offset()
	if off < 1 || off >= n {
		c.fail("pad_token_id is %d with %d positions", off-1, n)
		return
	}
	put("context_length", n-off)
}

// behind leaves out the first rows of a matrix.
func behind(w *weights.Tensor, rows int) (*weights.Tensor, error) {
	if len(w.Shape) != 2 || rows < 1 || rows >= w.Shape[0] {
		return nil, fmt.Errorf("%w: tensor %s has shape %v, want more than %d rows", ErrFormat, w.Name, w.Shape, rows)
	}
	return rowsOf(w.Name, w, rows, w.Shape[0]-rows), nil
}

// hfHeads name the tensors of the head of models that score pairs, by model_type.
var hfHeads = map[string]map[string]string{
	"bert":        {"pooler.dense": "cls", "classifier": "cls.output"},
	jinaBert:      {"pooler.dense": "cls", "classifier": "cls.output"},
	"xlm-roberta": {"classifier.dense": "cls", "classifier.out_proj": "cls.output"},
	"roberta":     {"classifier.dense": "cls", "classifier.out_proj": "cls.output"},
	"camembert":   {"classifier.dense": "cls", "classifier.out_proj": "cls.output"},
	"modernbert":  {"head.dense": "cls", "head.norm": "cls.norm", "classifier": "cls.output"},
	"qwen3":       {"score": "cls.output"},
}

// hfSkips are names of models that guess words, and of what follows from others, beside hfUnused.
var hfSkips = map[string][]string{
	"xlm-roberta": {"lm_head."}, "roberta": {"lm_head."}, "camembert": {"lm_head."}, "modernbert": {"head.", "decoder."},
	"gptj": {"attn.bias", "attn.masked_bias"}, "gpt2": {"attn.bias", "attn.masked_bias"}, "gpt_bigcode": {"attn.bias", "attn.masked_bias"}, "exaone": {"rotary.inv_freq"}, // masks and frequencies
}

// scores reports whether the model was made to score texts.
func (c *hfConfig) scores() bool {
	list, _ := c.m["architectures"].([]any)
	name := ""
	if len(list) > 0 {
		name, _ = list[0].(string)
	}
	return strings.HasSuffix(name, "ForSequenceClassification")
}

// headName is what GGUF calls a tensor of the head, "" for all others.
func (c *hfConfig) headName(hf string) string {
	if !c.scores() {
		return ""
	}
	for _, p := range []string{"model.", "bert.", "roberta."} {
		hf = strings.TrimPrefix(hf, p)
	}
	stem, kind := hf, ""
	if i := strings.LastIndexByte(hf, '.'); i > 0 {
		stem, kind = hf[:i], hf[i:]
	}
	if to := hfHeads[c.kind][stem]; to != "" {
		return to + kind
	}
	return ""
}

// labels are the names of a classifier's classes, nil where config.json does not name all.
func (c *hfConfig) labels() []string {
	m, _ := c.m["id2label"].(map[string]any)
	names := make(map[string]string, len(m))
	for k, v := range m {
		names[k], _ = v.(string)
	}
	return LabelNames(names)
}

// LabelNames puts the names of classes, known by their numbers, in order; nil where one is
// missing.
func LabelNames(names map[string]string) []string {
	var out []string
	for i := range len(names) {
		name, ok := names[strconv.Itoa(i)]
		if !ok {
			return nil
		}
		out = append(out, name)
	}
	return out
}

// RerankTemplate is the key of the text that a pair of texts is put into, with {query} and
// {document} for them, where a model wants one.
const RerankTemplate = "tokenizer.chat_template.rerank"

// QwenRerank is the text Qwen3's rerankers were trained with, as their card has it.
const QwenRerank = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. " +
	"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n" +
	"<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n" +
	"<|im_start|>assistant\n<think>\n\n</think>\n\n"

// scoring says so of a model that scores pairs of texts, or classifies them.
func (c *hfConfig) scoring(set *weights.Set, meta *weights.Meta, put func(string, any)) {
	switch {
	case c.scores():
		if hfHeads[c.kind] == nil {
			c.refuse("a classifier of model_type %q", c.kind)
		}
	case c.kind == "qwen3":
		if c.findYesNo(set); c.yesNo == nil {
			return
		}
	default:
		return
	}
	put("pooling_type", int64(PoolRank))
	labels := c.labels()
	switch {
	case c.yesNo != nil:
		put("classifier.output_labels", yesNo) // how llama.cpp knows that there are two
	case labels != nil:
		put("classifier.output_labels", labels)
		if p, ok := c.m["problem_type"].(string); ok && len(labels) > 1 {
			put("classifier.problem_type", p)
		}
	}
	switch c.kind {
	case "qwen3":
		if len(labels) < 2 || c.yesNo != nil {
			meta.Set(RerankTemplate, QwenRerank)
		}
	case "modernbert":
		pool, _ := c.first("classifier_pooling").(string)
		pool = cmp.Or(pool, "cls")
		put("classifier_pooling", pool)
	}
}

// findYesNo finds the tokens yes and no of a Qwen3 reranker: as sentence-transformers has
// them, else by their texts in a folder that is named as the model is.
func (c *hfConfig) findYesNo(set *weights.Set) {
	var score struct {
		Yes *int64 `json:"true_token_id"`
		No  *int64 `json:"false_token_id"`
	}
	if text := set.Meta.String("hf.logit_score"); text != "" {
		if json.Unmarshal([]byte(text), &score) != nil || score.Yes == nil || score.No == nil {
			c.fail("the configuration of LogitScore names no true_token_id and false_token_id")
			return
		}
	} else {
		named := func(s string) bool { return strings.Contains(strings.ToLower(s), "qwen3-reranker") }
		path, _ := c.m["_name_or_path"].(string)
		if !named(set.Meta.String("hf.folder")) && !named(path) {
			return
		}
		var file struct {
			Model struct {
				Vocab map[string]int64 `json:"vocab"`
			} `json:"model"`
		}
		if err := json.Unmarshal([]byte(set.Meta.String("hf.tokenizer")), &file); err != nil {
			c.fail("tokenizer.json of a reranker: %v", err)
			return
		}
		yes, ok := file.Model.Vocab["yes"]
		no, ok2 := file.Model.Vocab["no"]
		if !ok || !ok2 {
			c.fail("tokenizer.json of a reranker has no tokens yes and no")
			return
		}
		score.Yes, score.No = &yes, &no
	}
	n := c.int("vocab_size", maxWidth*16)
	if *score.Yes < 0 || *score.No < 0 || *score.Yes >= n || *score.No >= n {
		c.fail("the tokens yes and no are %d and %d of %d", *score.Yes, *score.No, n)
		return
	}
	c.yesNo = []int{int(*score.Yes), int(*score.No)}
}

// yesNo makes the head of a reranker of the rows of two tokens.
func (tr *translation) yesNo() error {
	if tr.c.yesNo == nil {
		return nil
	}
	w, ok := tr.to.Tensor("output.weight")
	if !ok {
		if w, ok = tr.to.Tensor("token_embd.weight"); !ok {
			return fmt.Errorf("%w: no token_embd.weight", ErrFormat)
		}
	}
	if len(w.Shape) != 2 || tr.c.yesNo[0] >= w.Shape[0] || tr.c.yesNo[1] >= w.Shape[0] {
		return fmt.Errorf("%w: tensor %s has shape %v, without rows %v", ErrFormat, w.Name, w.Shape, tr.c.yesNo)
	}
	rows := gather(w, false, tr.c.yesNo)
	rows.Name = "cls.output.weight"
	return tr.put(rows)
}

// dense reads the layers that sentence-transformers puts behind the pooling.
func (c *hfConfig) dense(set *weights.Set, put func(string, any)) {
	for _, name := range []string{"dense_2", "dense_3"} {
		text := set.Meta.String("hf." + name)
		if text == "" {
			continue
		}
		var d struct {
			In  int64  `json:"in_features"`
			Out int64  `json:"out_features"`
			Act string `json:"activation_function"`
		}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			c.fail("the configuration of %s: %v", name, err)
			return
		}
		put(name+"_feat_in", d.In)
		put(name+"_feat_out", d.Out)
		switch act := d.Act[strings.LastIndexByte(d.Act, '.')+1:]; act {
		case "Tanh", "": // what it is when the file does not say
			put(name+"_activation", "tanh")
		case "Identity":
		default:
			c.refuse("a Dense layer with activation %.100q", act)
		}
	}
}
