package model

import (
	"strconv"
	"strings"

	"quern/formats/weights"
)

// Skipped counts the tensors of a text model's file that its replies do not depend on: those for
// what it sees and hears, and those of layers that draft further tokens.
func Skipped(set *weights.Set) (senses, drafts int) {
	sense, draft := ggufSkipped(set)
	if set.Source == weights.SafeTensors && set.Meta.String("general.architecture") == "" {
		sense, draft = hfSkipped(set)
	}
	for t := range set.All() {
		switch {
		case sense(t.Name):
			senses++
		case draft(t.Name):
			drafts++
		}
	}
	return senses, drafts
}

// layerOf is the number behind before in a tensor's name, -1 where there is none.
func layerOf(name, before string) int {
	_, rest, _ := strings.Cut(name, before)
	number, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(number); err == nil {
		return n
	}
	return -1
}

func ggufSkipped(set *weights.Set) (sense, draft func(string) bool) {
	first, some := draftingLayers(set)
	draft = func(name string) bool {
		return some > 0 && strings.HasPrefix(name, "blk.") && int64(layerOf(name, "blk.")) >= first
	}
	return sees, draft
}

// draftingLayers are the layers of a set in GGUF's terms that draft: the first, and how many.
func draftingLayers(set *weights.Set) (first, some int64) {
	prefix := set.Meta.String("general.architecture") + "."
	blocks, _ := set.Meta.Int(prefix + "block_count")
	some, _ = set.Meta.Int(prefix + "nextn_predict_layers")
	return blocks - some, some
}

func hfSkipped(set *weights.Set) (sense, draft func(string) bool) {
	layers := int64(maxLayers)
	if c, err := parseHF(set.Meta.String("hf.config")); err == nil && c.m["num_nextn_predict_layers"] != nil {
		layers = c.int("num_hidden_layers", layers)
	}
	sense = func(name string) bool { return hasPart(name, hfSenses) }
	draft = func(name string) bool { return hasPart(name, hfDrafts) || int64(layerOf(name, "layers.")) >= layers }
	return sense, draft
}
