package quantize

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quern/formats"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A Mixture is the number type of most weights of a file, and the file_type
// GGUF calls the whole by.
type Mixture struct {
	Most     quant.Type
	FileType int64
}

// plain says that all weights get the same type.
func (m Mixture) plain() bool {
	return m.Most == quant.F32 || m.Most == quant.F16 || m.Most == quant.BF16 || m.Most == quant.Q8_0
}

func Find(name string) (Mixture, error) {
	for t, m := range quant.Mixtures() {
		if m.Made && strings.EqualFold(m.Name, name) {
			return Mixture{Most: t, FileType: int64(m.FileType)}, nil
		}
	}
	return Mixture{}, fmt.Errorf("number type %q is not known; there are %s", name, strings.Join(Types(), ", "))
}

// Types lists the mixtures Quantize makes.
func Types() []string {
	var names []string
	for _, m := range quant.Mixtures() {
		if m.Made {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Check reports what is wrong with a mixture's name.
func Check(name string) error {
	_, err := Find(name)
	return err
}

// kept are parts of names of weights that are too small, or too sensitive, to
// be stored in fewer bits.
var kept = []string{
	"_norm.weight", "ffn_gate_inp", "position_embd.", "token_types.", "rope_freqs.", "rope_factors_", "ssm_conv1d.", "shortconv.conv.", "per_layer_model_proj.", "altup_", "laurel_", "cls.", "dense_",
	"channel_mix_lerp_", "time_mix_lerp_", "time_mix_w1.", "time_mix_w2.", "time_mix_a1.", "time_mix_a2.", "time_mix_v1.", "time_mix_v2.", "time_mix_g1.", "time_mix_g2.",
}

// typeOf chooses the number type of a tensor.
//
// The rules are those of llama.cpp's llama-quant.cpp for these mixtures: the
// output layer is the most sensitive, then values and the second feed-forward
// product of the first and last layers and of every third between.
func (q *quantizer) typeOf(t *weights.Tensor) (quant.Type, error) {
	if len(t.Shape) < 2 || !strings.HasSuffix(t.Name, ".weight") || slices.ContainsFunc(kept, func(s string) bool { return strings.Contains(t.Name, s) }) {
		if q.converted && t.Type.Layout().Block == 1 {
			return quant.F32, nil
		}
		return t.Type, nil
	}
	switch t.Type {
	case quant.F32, quant.F16, quant.BF16:
	case quant.MXFP4:
		return t.Type, nil // as the model was trained
	default:
		return 0, fmt.Errorf("%w: %s is %v already; quantise the original model", formats.ErrUnsupported, t.Name, t.Type)
	}
	row := t.Shape[len(t.Shape)-1]
	to := q.mix.Most
	if !q.mix.plain() {
		to = q.sensitive(t.Name, to)
		if row%to.Layout().Block != 0 {
			to = cmp.Or(narrow[to], quant.F16)
		}
	}
	if row%to.Layout().Block != 0 {
		to = quant.F16
	}
	return to, nil
}

// narrow is what rows that do not fill blocks of 256 get instead.
var narrow = map[quant.Type]quant.Type{quant.Q4_K: quant.Q5_0, quant.Q5_K: quant.Q5_1, quant.Q6_K: quant.Q8_0}

func (q *quantizer) sensitive(name string, to quant.Type) quant.Type {
	arch := q.set.Meta.String("general.architecture")
	number := func(key string) int {
		n, _ := q.set.Meta.Int(arch + "." + key)
		return int(min(max(n, 0), 1<<16))
	}
	layers, experts := number("block_count"), number("expert_count")
	_, untied := q.set.Tensor("output.weight")
	if name == "output.weight" || name == "token_embd.weight" && !untied {
		if arch == "falcon" {
			return quant.Q8_0
		}
		return quant.Q6_K
	}
	layer := 0
	if rest, ok := strings.CutPrefix(name, "blk."); ok {
		digits, _, _ := strings.Cut(rest, ".")
		layer, _ = strconv.Atoi(digits) // names of another form count as layer 0
	}
	more := layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
	kinds := to == quant.Q4_K || to == quant.Q5_K
	has := func(s string) bool { return strings.Contains(name, s) }
	switch {
	case has("attn_v."):
		switch {
		case experts == 8:
			return quant.Q8_0
		case kinds && more:
			return quant.Q6_K
		case to == quant.Q4_K && arch == "llama" && layers == 80: // Llama 70B, whose values many heads share
			return quant.Q5_K
		}
	case has("attn_k.") && experts == 8:
		return quant.Q8_0
	case has("attn_qkv."):
		switch to {
		case quant.Q4_K:
			return quant.Q5_K
		case quant.Q5_K:
			return quant.Q6_K
		}
	case has("attn_output.") && experts == 8 && to == quant.Q4_K:
		return quant.Q5_K
	case has("ffn_down"):
		switch {
		case arch == "falcon" && to == quant.Q4_K:
			switch {
			case layer < layers/16:
				return quant.Q6_K
			case more:
				return quant.Q5_K
			}
		case kinds && more:
			return quant.Q6_K
		}
	}
	return to
}
