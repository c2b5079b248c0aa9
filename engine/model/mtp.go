package model

import (
	"fmt"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// An MTP is a model's own layer for multi-token prediction: of what the model made of a token,
// and of the token that followed, it predicts the one behind that. What it makes itself stands
// for what the model would make, so it goes on from there. Its first layer drafts all tokens;
// of files with several the others are left out.
//
// Row p takes the model's last norm of token p beside the embedding of token p + 1, that first, and
// attends to its own rows before. So do vLLM, SGLang and llama.cpp; the code that came with DeepSeek
// R1 and measurements of acceptance say that it is the norm, and not what is normed.
//
// DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, §2.2; Gloeckle et al., "Better & Faster
// Large Language Models via Multi-token Prediction", 2024.
type MTP struct {
	m     predictor
	own   *base
	embed *weights.Tensor // (vocab, hidden)
	e, h  norm            // of the embedding and of what the model made
	join  linear          // (hidden, 2·hidden)
	layer layerPass
	norm  norm
	head  linear // (vocab, hidden)
}

// A predictor is an LM whose files may have such a layer.
type predictor interface {
	LM
	own() *base
	// hidden is Hidden, of all rows unless wanted.
	hidden(b *graph.Builder, wanted bool) graph.Value
	// next finds layer i, behind the model's last, which has the first of a cache's layers.
	next(i int) layerPass
}

// A layerPass records a layer, which only wanted rows leave.
type layerPass func(b *graph.Builder, x graph.Value) graph.Value

// mtpArchs are the architectures whose drafting layers are known.
var mtpArchs = map[string]bool{"deepseek2": true, "glm4moe": true, "qwen35": true, "qwen35moe": true, "qwen3next": true}

// OpenMTP finds the layer of a model's file that drafts.
func OpenMTP(lm LM) (*MTP, error) {
	c := lm.Config()
	m, ok := lm.(predictor)
	if !ok || !mtpArchs[c.Arch] {
		return nil, fmt.Errorf("%w: drafting layers (nextn, MTP) of architecture %s", ErrUnsupported, c.Arch)
	}
	d := &MTP{m: m, own: m.own()}
	f, t, i := d.own.set, &d.own.tensors, c.Layers
	name := func(tail string) string { return blk(i, "nextn."+tail) }
	if _, ok := f.Tensor(name("eh_proj.weight")); !ok {
		return nil, fmt.Errorf("%w: the file has no drafting layer (nextn, MTP): tensor %s is missing", ErrUnsupported, name("eh_proj.weight"))
	}
	d.join = t.linear(name("eh_proj"), c.Hidden, 2*c.Hidden)
	d.e, d.h = t.norm(name("enorm"), c.Hidden), t.norm(name("hnorm"), c.Hidden)
	if d.embed = t.maybe(name("embed_tokens.weight"), c.Vocab, c.Hidden); d.embed == nil {
		d.embed = d.own.embed
	}
	if d.norm = d.own.norm; f.has(name("shared_head_norm.weight")) {
		d.norm = t.norm(name("shared_head_norm"), c.Hidden)
	}
	if d.head = d.own.output; f.has(name("shared_head_head.weight")) {
		d.head = t.linear(name("shared_head_head"), c.Vocab, c.Hidden)
	}
	d.layer = m.next(i)
	if err := d.own.err(); err != nil {
		return nil, err
	}
	for w := range f.All() {
		if strings.HasPrefix(w.Name, blk(i, "")) && !f.tensors[w.Name] {
			return nil, fmt.Errorf("%w: tensor %.100q is none that quern knows in a drafting layer of architecture %s", ErrUnsupported, w.Name, c.Arch)
		}
	}
	return d, nil
}

// Rows records the model's pass of all rows, up to the last norm: (rows, Config.Hidden).
func (d *MTP) Rows(b *graph.Builder) graph.Value { return d.m.hidden(b, false) }

// Next records the pass of the layer alone, whose tokens are those that follow; Builder.Given is
// what the model made of each row, or what Next did. The results are of wanted rows: what it made,
// (want, Config.Hidden), and the logits, (want, Config.Vocab).
func (d *MTP) Next(b *graph.Builder) (made, logits graph.Value) {
	c := &d.own.c
	e := d.e.rms(b, b.Embed(b.Tokens(), d.embed), c.Eps)
	x := d.join.of(b, b.HeadJoin(e, d.h.rms(b, b.Given(c.Hidden), c.Eps), 1))
	made = d.norm.rms(b, d.layer(b, x), c.Eps)
	return made, d.head.of(b, made)
}

// WithoutMTP is a set in GGUF's terms less the layers that draft, for models that need not.
func WithoutMTP(set *weights.Set) *weights.Set {
	_, draft := ggufSkipped(set)
	if _, some := draftingLayers(set); some == 0 {
		return set
	}
	rest := &weights.Set{Source: set.Source, Meta: set.Meta}
	for t := range set.All() {
		if !draft(t.Name) {
			_ = rest.Add(t) // names are unique, as they are in set
		}
	}
	return rest
}

// Layers that draft in SafeTensors files. DeepSeek and GLM have them behind the model's own layers;
// Qwen has them apart, under mtp.

// mtpNames are the names of what a drafting layer has beside any layer.
var mtpNames = map[string]string{
	"eh_proj": "nextn.eh_proj", "enorm": "nextn.enorm", "hnorm": "nextn.hnorm",
	"embed_tokens": "nextn.embed_tokens", "shared_head.norm": "nextn.shared_head_norm", "shared_head.head": "nextn.shared_head_head",
}

// qwenMTP are Qwen's names for the same, which its one drafting layer has outside it.
var qwenMTP = map[string]string{
	"fc.": "eh_proj.", "pre_fc_norm_embedding.": "enorm.", "pre_fc_norm_hidden.": "hnorm.", "norm.": "shared_head.norm.",
}

// findMTP counts the layers that draft, where files of the architecture are known to have them whole:
// each has the product that joins embeddings and what the model made. They become the last blocks,
// as in GGUF files.
func (tr *translation) findMTP() {
	if !mtpArchs[tr.f.arch] {
		return
	}
	layers := tr.c.int("num_hidden_layers", 0)
	count := func(name string) {
		switch {
		case strings.HasSuffix(name, "mtp.fc.weight"):
			tr.mtp = max(tr.mtp, 1)
		case strings.HasSuffix(name, ".eh_proj.weight") && tr.c.m["num_nextn_predict_layers"] != nil:
			tr.mtp = max(tr.mtp, layerOf(name, "layers.")-int(layers)+1)
		}
	}
	for t := range tr.from.All() {
		count(t.Name)
	}
	for _, r := range tr.from.Raws() {
		count(r.Name)
	}
	if tr.mtp > 0 {
		tr.to.Meta.Set(tr.f.arch+".block_count", layers+int64(tr.mtp))
		tr.to.Meta.Set(tr.f.arch+".nextn_predict_layers", int64(tr.mtp))
	}
}

// mtpName is a tensor's name in the manner of DeepSeek's files.
func (tr *translation) mtpName(name string) string {
	before, rest, ok := strings.Cut(name, "mtp.")
	if !ok || before != "" && !strings.HasSuffix(before, ".") {
		return name
	}
	layer := fmt.Sprintf("%slayers.%d.", before, tr.c.int("num_hidden_layers", 0))
	if tail, ok := strings.CutPrefix(rest, "layers.0."); ok {
		return layer + tail
	}
	for from, to := range qwenMTP {
		if tail, ok := strings.CutPrefix(rest, from); ok {
			return layer + to + tail
		}
	}
	return name
}
