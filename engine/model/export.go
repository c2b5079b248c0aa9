package model

import (
	"fmt"
	"strings"

	"quern/formats/weights"
)

// ToGGUF returns set as a GGUF file of the model has it: in GGUF's terms and
// with query and key rows in GGUF's order. Tensors that differ from set's have
// no Data until they are read or filled. The tokenizer and what describes the
// file itself are not part of it.
func ToGGUF(set *weights.Set) (*weights.Set, error) {
	if set.Source != weights.SafeTensors {
		return Translate(set)
	}
	lm, err := Open(set) // so that nothing is written that would not run
	if err != nil {
		return nil, err
	}
	from, err := Translate(set)
	if err != nil {
		return nil, err
	}
	c := lm.Config()
	to := &weights.Set{Source: weights.GGUF, Meta: ggufMeta(&from.Meta)}
	for t := range from.All() {
		w := alias(t.Name, t)
		if (interleaved[c.Arch] || decoders[c.Arch].pairs == permuted) && (strings.Contains(t.Name, ".attn_q.") || strings.Contains(t.Name, ".attn_k.")) {
			if w, err = pairRows(t, c.HeadDim, c.Rope.Dim); err != nil {
				return nil, err
			}
		}
		if err := to.Add(w); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrFormat, err)
		}
	}
	return to, nil
}

// ggufMeta is the keys of a translated set with the types GGUF gives them.
func ggufMeta(from *weights.Meta) weights.Meta {
	var to weights.Meta
	for k, v := range from.All() {
		if n, ok := v.(int64); ok && isReal(k) {
			v = float64(n)
		}
		to.Set(k, v)
	}
	return to
}

// interleaved are the architectures whose GGUF files rotate neighbours, beside some of
// decoders; see base.interleave.
var interleaved = map[string]bool{"granitehybrid": true, "granitemoe": true}

// isReal reports whether GGUF stores the number under key as a float, which
// config.json may write without a fraction.
func isReal(key string) bool {
	for _, part := range []string{"epsilon", "freq_base", "scaling.factor", "attn_factor", "yarn_", "softcapping", ".scale", "_scale", "jitter"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}

// pairRows puts the two halves of what is rotated of each head, which rotate
// against each other, row by row side by side.
func pairRows(t *weights.Tensor, head, rotated int) (*weights.Tensor, error) {
	if len(t.Shape) == 0 || t.Shape[0]%head != 0 {
		return nil, fmt.Errorf("%w: tensor %s has shape %v, for heads of %d", ErrFormat, t.Name, t.Shape, head)
	}
	w := &weights.Tensor{Name: t.Name, Type: t.Type, Shape: t.Shape}
	rearrange(w, t, func(dst, data []byte) {
		row := len(data) / t.Shape[0]
		for r := range t.Shape[0] {
			from, i := r, r%head
			if i < rotated {
				from = r - i + i/2 + i%2*rotated/2
			}
			copy(dst[r*row:(r+1)*row], data[from*row:])
		}
	})
	return w, nil
}
