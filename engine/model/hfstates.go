package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"quern/formats/weights"
)

// The tensors of SafeTensors files of hybrids, made what GGUF files have.

// changed makes the tensors of hybrids what GGUF files have, and reports whether it has.
func (tr *translation) changed(to *weights.Tensor) (bool, error) {
	_, name, _ := strings.Cut(strings.TrimPrefix(to.Name, "blk."), ".")
	meta := func(key string) int {
		n, _ := tr.to.Meta.Int(tr.f.arch + "." + key)
		return int(n)
	}
	switch name {
	case "ssm_a", "ssm_d":
		x, err := to.Floats()
		if err != nil {
			return true, err
		}
		if name == "ssm_a" {
			for i, v := range x {
				x[i] = float32(-math.Exp(float64(v)))
			}
			if tr.f.arch == "qwen35" || tr.f.arch == "qwen35moe" {
				if x, err = tile(x, meta("ssm.group_count")); err != nil {
					return true, err
				}
			}
		}
		made := floats(to.Name, x)
		made.Shape = to.Shape
		if len(to.Shape) == 1 && tr.f.arch != "mamba" && tr.f.arch != "jamba" && !strings.HasPrefix(tr.f.arch, "qwen") {
			made.Shape = []int{len(x), 1}
		}
		return true, tr.put(made)
	case "ssm_conv1d.weight", "shortconv.conv.weight":
		if len(to.Shape) == 3 && to.Shape[1] == 1 {
			to.Shape = []int{to.Shape[0], to.Shape[2]}
		}
	case "ssm_norm.weight":
		if groups := meta("ssm.group_count"); !strings.HasPrefix(tr.f.arch, "qwen") && groups > 0 && len(to.Shape) == 1 && to.Shape[0]%groups == 0 {
			to.Shape = []int{groups, to.Shape[0] / groups}
		}
		return true, tr.put(to) // never stored less one
	case "ssm_in.weight":
		if tr.f.arch == "qwen3next" {
			return true, tr.ungroupQKVZ(to, meta)
		}
	}
	switch tr.f.arch {
	case "granitehybrid", "granitemoe":
		return tr.sharedMLP(to, name)
	case "qwen35", "qwen35moe":
		return tr.tileValues(to, name, meta)
	case "falcon-h1":
		return tr.fold(to, name, meta)
	}
	return false, nil
}

// sharedMLP takes gate and up of Granite's block that all rows go through apart, and names it
// by whether there are experts beside it.
func (tr *translation) sharedMLP(to *weights.Tensor, name string) (bool, error) {
	suffix := ".weight"
	if n, _ := tr.to.Meta.Int(tr.f.arch + ".expert_count"); n > 0 {
		suffix = "_shexp.weight"
	}
	switch name {
	case "ffn_down.weight":
		to.Name = strings.TrimSuffix(to.Name, ".weight") + suffix
		return true, tr.put(to)
	case "ffn_up.weight":
	default:
		return false, nil
	}
	if len(to.Shape) != 2 || to.Shape[0]%2 != 0 {
		return true, fmt.Errorf("%w: tensor %s has shape %v, want gate and up", ErrFormat, to.Name, to.Shape)
	}
	n := to.Shape[0] / 2
	for i, part := range []string{"ffn_gate", "ffn_up"} {
		order := make([]int, n)
		for r := range order {
			order[r] = i*n + r
		}
		w := gather(to, false, order)
		w.Name = strings.Replace(to.Name, "ffn_up.weight", part+suffix, 1)
		if err := tr.put(w); err != nil {
			return true, err
		}
	}
	return true, nil
}

// tile orders what value heads have as GGUF files of Qwen3.5 do: the first of each key head,
// then the second of each.
func tile[T any](x []T, keyHeads int) ([]T, error) {
	if keyHeads < 1 || len(x)%keyHeads != 0 {
		return nil, fmt.Errorf("%w: %d value heads for %d key heads", ErrFormat, len(x), keyHeads)
	}
	share := len(x) / keyHeads
	out := make([]T, 0, len(x))
	for r := range share {
		for k := range keyHeads {
			out = append(out, x[k*share+r])
		}
	}
	return out, nil
}

// tiledRows is the order of rows, or columns, of which those from first on belong to value
// heads.
func tiledRows(n, first, heads, keyHeads int) ([]int, error) {
	if heads < 1 || n < first || (n-first)%heads != 0 {
		return nil, fmt.Errorf("%w: %d rows for %d value heads", ErrFormat, n-first, heads)
	}
	order := make([]int, 0, n)
	for i := range first {
		order = append(order, i)
	}
	size := (n - first) / heads
	all := make([]int, heads)
	for h := range all {
		all[h] = h
	}
	all, err := tile(all, keyHeads)
	for _, h := range all {
		for i := range size {
			order = append(order, first+h*size+i)
		}
	}
	return order, err
}

func (tr *translation) tileValues(to *weights.Tensor, name string, meta func(string) int) (bool, error) {
	heads, keys := meta("ssm.time_step_rank"), meta("ssm.group_count")
	first := 0
	switch name {
	case "attn_qkv.weight", "ssm_conv1d.weight":
		first = 2 * keys * meta("ssm.state_size")
	case "attn_gate.weight", "ssm_alpha.weight", "ssm_beta.weight", "ssm_dt.bias":
	case "ssm_out.weight":
		if len(to.Shape) != 2 {
			return false, nil
		}
		order, err := tiledRows(to.Shape[1], 0, heads, keys)
		if err != nil {
			return true, err
		}
		return true, tr.put(gather(to, true, order))
	default:
		return false, nil
	}
	order, err := tiledRows(to.Shape[0], first, heads, keys)
	if err != nil {
		return true, err
	}
	return true, tr.put(gather(to, false, order))
}

// ungroupQKVZ takes Qwen3-Next's projection apart, which has of each key head its query, its
// key, its value heads and their gates.
func (tr *translation) ungroupQKVZ(to *weights.Tensor, meta func(string) int) error {
	keys, dim, inner := meta("ssm.group_count"), meta("ssm.state_size"), meta("ssm.inner_size")
	if keys < 1 || inner%keys != 0 || len(to.Shape) != 2 || to.Shape[0] != 2*keys*dim+2*inner {
		return fmt.Errorf("%w: tensor %s has shape %v, for %d key heads of %d and values of %d", ErrFormat, to.Name, to.Shape, keys, dim, inner)
	}
	v := inner / keys
	group := 2*dim + 2*v
	numbers := func(from, n int) (list []int) {
		for k := range keys {
			for i := range n {
				list = append(list, k*group+from+i)
			}
		}
		return list
	}
	part := func(name string, order []int) error {
		w := gather(to, false, order)
		w.Name = strings.Replace(to.Name, "ssm_in", name, 1)
		return tr.put(w)
	}
	if err := part("attn_qkv", slices.Concat(numbers(0, dim), numbers(dim, dim), numbers(2*dim, v))); err != nil {
		return err
	}
	return part("attn_gate", numbers(2*dim+v, v))
}

// fold multiplies weights by Falcon-H1's multipliers, which GGUF files have no keys for. The
// products are F32.
func (tr *translation) fold(to *weights.Tensor, name string, meta func(string) int) (bool, error) {
	c := tr.c
	by := func(key string) float64 {
		v, ok := number(c.m[key])
		if c.m[key] == nil {
			return 1
		}
		if !ok {
			c.fail("%s is %v, want a number", key, c.m[key])
		}
		return v
	}
	list := func(key string, n int) []float64 {
		out := slices.Repeat([]float64{1}, n)
		if v, ok := c.m[key].([]any); ok {
			if len(v) != n {
				c.fail("%s has %d numbers, want %d", key, len(v), n)
				return out
			}
			for i, x := range v {
				out[i], _ = number(x)
			}
		}
		return out
	}
	row := func(int) float64 { return 1 }
	all := func(x float64) { row = func(int) float64 { return x } }
	switch {
	case to.Name == "token_embd.weight":
		if c.flag("tie_word_embeddings") {
			out := alias("output.weight", to)
			if err := tr.put(multiplied(out, func(int) float64 { return by("lm_head_multiplier") })); err != nil {
				return true, err
			}
		}
		all(by("embedding_multiplier"))
	case to.Name == "output.weight":
		all(by("lm_head_multiplier"))
	case name == "attn_q.weight", name == "attn_v.weight":
		all(by("attention_in_multiplier"))
	case name == "attn_k.weight":
		all(by("attention_in_multiplier") * by("key_multiplier"))
	case name == "attn_output.weight":
		all(by("attention_out_multiplier"))
	case name == "ssm_out.weight":
		all(by("ssm_out_multiplier"))
	case name == "ffn_gate.weight":
		all(list("mlp_multipliers", 2)[0])
	case name == "ffn_down.weight":
		all(list("mlp_multipliers", 2)[1])
	case name == "ssm_in.weight":
		inner, bc := meta("ssm.inner_size"), meta("ssm.group_count")*meta("ssm.state_size")
		m, in := list("ssm_multipliers", 5), by("ssm_in_multiplier")
		row = func(r int) float64 {
			for k, n := range []int{inner, inner, bc, bc} { // z, x, b, c; then dt
				if r < n {
					return in * m[k]
				}
				r -= n
			}
			return in * m[4]
		}
	case name == "ffn_norm.weight":
		to.Name = strings.TrimSuffix(to.Name, ".weight") // so llama.cpp's converter names it
		return true, tr.put(to)
	default:
		return false, c.err
	}
	if c.err != nil {
		return true, c.err
	}
	return true, tr.put(multiplied(to, row))
}
