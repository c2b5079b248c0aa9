package model

import (
	"fmt"
	"strings"
)

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
