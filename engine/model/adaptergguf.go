package model

import (
	"fmt"
	"math"
	"strings"

	"quern/formats/weights"
)

// ggufChanges reads an adapter as llama.cpp's converter writes it: "blk.0.attn_q.weight"
// is changed by "blk.0.attn_q.weight.lora_a" (rank, in) and "….lora_b" (out, rank), a stack
// of experts by one of each. Of the lookup of tokens A is (vocab, rank).
func ggufChanges(file *weights.Set, arch string) ([]lowRank, error) {
	meta := &file.Meta
	if !IsAdapter(meta) {
		return nil, fmt.Errorf("%w: general.type is %.100q, want \"adapter\": this is no adapter", ErrFormat, meta.String("general.type"))
	}
	if kind := meta.String("adapter.type"); kind != "lora" {
		return nil, fmt.Errorf("%w: an adapter of type %.100q; quern knows lora", ErrUnsupported, kind)
	}
	if made := meta.String("general.architecture"); made != arch {
		return nil, fmt.Errorf("%w: the adapter was made for architecture %.100q, and the model is %s", ErrFormat, made, arch)
	}
	for key, v := range meta.All() {
		if strings.HasPrefix(key, "adapter.") && !adapterKeys[key] {
			return nil, fmt.Errorf("%w: key %.100q = %.100s is none that quern knows in an adapter", ErrUnsupported, key, fmt.Sprint(v))
		}
	}
	alpha := 0.0
	if v, ok := meta.Lookup("adapter.lora.alpha"); ok {
		if alpha, ok = number(v); !ok || math.IsNaN(alpha) || math.IsInf(alpha, 0) {
			return nil, fmt.Errorf("%w: adapter.lora.alpha is %v", ErrFormat, v)
		}
	}
	all := newUnpaired()
	for t := range file.All() {
		name, isA := strings.CutSuffix(t.Name, ".lora_a")
		if !isA {
			var isB bool
			if name, isB = strings.CutSuffix(t.Name, ".lora_b"); !isB {
				return nil, errNoHalf(t.Name)
			}
		}
		if err := all.add(name, isA, t); err != nil {
			return nil, err
		}
	}
	list, err := all.whole()
	for i := range list {
		c := &list[i]
		c.scale = 1 // so llama.cpp reads an alpha of 0
		if alpha != 0 {
			c.scale = alpha / float64(c.rank())
		}
	}
	return list, err
}

// adapterKeys are what quern reads of an adapter, or may pass over.
var adapterKeys = map[string]bool{
	"adapter.type":               true,
	"adapter.lora.alpha":         true,
	"adapter.lora.task_name":     true, // what it is good for
	"adapter.lora.prompt_prefix": true,
}

// IsAdapter reports whether a file is an adapter and no model.
func IsAdapter(meta *weights.Meta) bool {
	return meta.String("general.type") == "adapter" || meta.String("hf.adapter_config") != "" && meta.String("hf.config") == ""
}

func errNoHalf(name string) error {
	return fmt.Errorf("%w: tensor %.100q of the adapter is no half of a low-rank change; merge such an adapter into its model", ErrUnsupported, name)
}

// unpaired are the tensors of an adapter on their way to changes, in the order of the file.
type unpaired struct {
	list []lowRank
	at   map[string]int
}

func newUnpaired() *unpaired { return &unpaired{at: make(map[string]int)} }

func (h *unpaired) add(name string, isA bool, t *weights.Tensor) error {
	i, ok := h.at[name]
	if !ok {
		i = len(h.list)
		h.at[name] = i
		h.list = append(h.list, lowRank{name: name, to: name})
	}
	half := &h.list[i].b
	if isA {
		half = &h.list[i].a
	}
	if *half != nil {
		return fmt.Errorf("%w: tensors %.100q and %.100q of the adapter are the same half", ErrFormat, (*half).Name, t.Name)
	}
	if len(t.Shape) != 2 && len(t.Shape) != 3 || t.Elems() == 0 {
		return fmt.Errorf("%w: tensor %.100q of the adapter has shape %v, want a matrix, or one for each expert", ErrUnsupported, t.Name, t.Shape)
	}
	*half = t
	return nil
}

// whole are the changes that have both halves, which all must.
func (h *unpaired) whole() ([]lowRank, error) {
	for _, c := range h.list {
		if c.a == nil || c.b == nil {
			return nil, fmt.Errorf("%w: a half of %.100q is missing in the adapter", ErrFormat, c.name)
		}
	}
	return h.list, nil
}

// rank is what B says, whose shape ends in (out, rank) in every kind of file.
func (c *lowRank) rank() int { return c.b.Shape[len(c.b.Shape)-1] }

// rowOrder says where a model whose rotated rows lie otherwise than an adapter's has each of
// the adapter's rows; nil where they lie alike. GGUF files of some architectures have the
// two rows of a pair next to each other, Hugging Face's have them half a head apart.
func (m *base) rowOrder(to string, from weights.Source) []int {
	if m.c.Arch == "gpt-oss" && from == weights.SafeTensors && strings.HasSuffix(to, ".ffn_gate_up_exps.weight") {
		order := make([]int, 2*m.c.ExpertFF) // gate and up by turns
		for i := range order {
			order[i] = 2*(i%m.c.ExpertFF) + i/m.c.ExpertFF
		}
		return order
	}
	if !m.turns || from == m.set.Source {
		return nil
	}
	heads := 0
	switch {
	case strings.HasSuffix(to, ".attn_q.weight"):
		heads = m.c.Heads
	case strings.HasSuffix(to, ".attn_k.weight"):
		heads = m.c.KVHeads
	default:
		return nil
	}
	dim := m.c.HeadDim
	order := make([]int, heads*dim)
	for h := range heads {
		for i := range dim / 2 {
			for j := range 2 {
				pair, apart := h*dim+2*i+j, h*dim+j*(dim/2)+i
				if m.set.Source == weights.GGUF {
					order[pair] = apart
				} else {
					order[apart] = pair
				}
			}
		}
	}
	return order
}
