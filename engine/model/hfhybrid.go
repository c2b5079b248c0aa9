package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"quern/formats/weights"
)

// The names, keys and tensors of SafeTensors files of hybrids.

var (
	qwenNextNames = map[string]string{
		"linear_attn.in_proj_qkvz": "ssm_in", "linear_attn.in_proj_ba": "ssm_ba",
		"linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.in_proj_b": "ssm_beta",
		"linear_attn.conv1d": "ssm_conv1d", "linear_attn.dt_bias": "ssm_dt.bias", "linear_attn.A_log": "ssm_a", "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
		"post_attention_layernorm": "post_attention_norm",
	}
	mambaNames = map[string]string{
		"norm": "attn_norm", "mixer.in_proj": "ssm_in", "mixer.conv1d": "ssm_conv1d", "mixer.x_proj": "ssm_x", "mixer.dt_proj": "ssm_dt", "mixer.dt_bias": "ssm_dt.bias",
		"mixer.A_log": "ssm_a", "mixer.D": "ssm_d", "mixer.norm": "ssm_norm", "mixer.out_proj": "ssm_out",
	}
	nemotronNames = with(mambaNames, map[string]string{
		"mixer.q_proj": "attn_q", "mixer.k_proj": "attn_k", "mixer.v_proj": "attn_v", "mixer.o_proj": "attn_output", "mixer.up_proj": "ffn_up", "mixer.down_proj": "ffn_down",
	})
	besideMamba = map[string]string{
		"mamba.in_proj": "ssm_in", "mamba.conv1d": "ssm_conv1d", "mamba.dt_bias": "ssm_dt.bias", "mamba.A_log": "ssm_a", "mamba.D": "ssm_d", "mamba.norm": "ssm_norm", "mamba.out_proj": "ssm_out",
	}
	falconH1Names = with(besideMamba, map[string]string{
		"feed_forward.gate_proj": "ffn_gate", "feed_forward.up_proj": "ffn_up", "feed_forward.down_proj": "ffn_down", "pre_ff_layernorm": "ffn_norm",
	})
	graniteHybridNames = with(besideMamba, map[string]string{
		"shared_mlp.input_linear": "ffn_up", "shared_mlp.output_linear": "ffn_down",
		"block_sparse_moe.input_linear": "ffn_gate_up_exps", "block_sparse_moe.output_linear": "ffn_down_exps", "block_sparse_moe.router.layer": "ffn_gate_inp",
	})
	lfm2Names = map[string]string{
		"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "conv.conv": "shortconv.conv", "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj",
		"feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up",
		"self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
		"feed_forward.gate": "ffn_gate_inp", "feed_forward.expert_bias": "exp_probs_b.bias",
		"feed_forward.experts.gate_up_proj": "ffn_gate_up_exps", "feed_forward.experts.down_proj": "ffn_down_exps",
	}
)

func with(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	for _, m := range []map[string]string{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// sizes puts integers under GGUF's keys; each must be there.
func (c *hfConfig) sizes(put func(string, any), keys map[string]string) {
	for _, to := range sortedKeys(keys) {
		from := keys[to]
		n := c.int(from, 0)
		if n < 1 || n > maxWidth {
			c.fail("%s is %v, outside 1 to %d", from, c.m[from], maxWidth)
		}
		put(to, n)
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// kinds returns what layer_types says of each layer by a table, which has all there are.
func (c *hfConfig) kinds(table map[string]int64) []int64 {
	list, _ := c.m["layer_types"].([]any)
	out := make([]int64, len(list))
	for i, v := range list {
		s, _ := v.(string)
		n, ok := table[s]
		if !ok {
			c.refuse("layers of type %v in a model of type %s", v, c.kind)
		}
		out[i] = n
	}
	return out
}

func qwenNext(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{
		"ssm.conv_kernel": "linear_conv_kernel_dim", "ssm.state_size": "linear_key_head_dim", "ssm.group_count": "linear_num_key_heads", "ssm.time_step_rank": "linear_num_value_heads",
	})
	put("ssm.inner_size", c.int("linear_num_value_heads", 0)*c.int("linear_value_head_dim", 0))
	every := c.int("full_attention_interval", 4)
	put("full_attention_interval", every)
	usual := true
	recurrent := make([]bool, 0)
	for i, n := range c.kinds(map[string]int64{"linear_attention": 1, "full_attention": 0}) {
		recurrent = append(recurrent, n == 1)
		usual = usual && every > 0 && (n == 0) == (int64(i+1)%every == 0)
	}
	if !usual {
		put("attention.recurrent_layers", recurrent)
	}
	if v, ok := c.m["attn_output_gate"].(bool); ok && !v {
		c.refuse("attn_output_gate of false in a model of type %s", c.kind)
	}
	experts(c, put)
	if c.arch != "qwen3next" {
		sections(c, put)
	}
}

func mambaConfig(c *hfConfig, put func(string, any)) {
	put("feed_forward_length", int64(0))
	put("attention.head_count", int64(0))
	put("attention.head_count_kv", int64(0))
	if c.first("max_position_embeddings") == nil {
		put("context_length", int64(1<<20)) // a state does not end
	}
	hidden := c.int("hidden_size", 0)
	if !c.flag("use_conv_bias") && c.m["use_conv_bias"] != nil {
		c.refuse("use_conv_bias of false in a model of type %s", c.kind)
	}
	if c.kind == "mamba2" {
		c.sizes(put, map[string]string{"ssm.conv_kernel": "conv_kernel", "ssm.state_size": "state_size", "ssm.group_count": "n_groups", "ssm.time_step_rank": "num_heads"})
		put("ssm.inner_size", c.int("num_heads", 0)*c.int("head_dim", 0))
		return
	}
	c.sizes(put, map[string]string{"ssm.conv_kernel": "conv_kernel", "ssm.state_size": "state_size", "ssm.time_step_rank": "time_step_rank"})
	put("ssm.inner_size", c.int("intermediate_size", c.int("expand", 2)*hidden))
	put("ssm.dt_b_c_rms", c.kind == "falcon_mamba")
	if c.kind == "falcon_mamba" {
		inner, ok1 := number(c.m["mixer_rms_eps"])
		if outer, ok2 := number(c.first("layer_norm_epsilon")); ok1 && ok2 && inner != outer {
			c.refuse("mixer_rms_eps of %v beside layer_norm_epsilon of %v", inner, outer)
		}
	}
}

func besideMambaConfig(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{"ssm.conv_kernel": "mamba_d_conv", "ssm.state_size": "mamba_d_state", "ssm.group_count": "mamba_n_groups", "ssm.time_step_rank": "mamba_n_heads"})
	inner := c.int("mamba_d_ssm", 0)
	if inner == 0 {
		inner = c.int("mamba_n_heads", 0) * c.int("mamba_d_head", 0)
	}
	put("ssm.inner_size", inner)
}

func falconH1Config(c *hfConfig, put func(string, any)) {
	besideMambaConfig(c, put)
	for _, key := range []string{"mamba_rms_norm", "mamba_norm_before_gate"} {
		if c.flag(key) {
			c.refuse("%s in a model of type %s", key, c.kind)
		}
	}
}

func graniteHybridConfig(c *hfConfig, put func(string, any)) {
	granite(c, put)
	besideMambaConfig(c, put)
	kv := c.kinds(map[string]int64{"mamba": 0, "attention": c.int("num_key_value_heads", c.int("num_attention_heads", 0))})
	put("attention.head_count_kv", kv)
	put("rope.scaling.finetuned", c.m["position_embedding_type"] == "rope")
	if n := c.int("num_local_experts", 0); n > 0 {
		experts(c, put)
		put("expert_feed_forward_length", c.int("intermediate_size", 0))
		put("expert_shared_feed_forward_length", c.int("shared_intermediate_size", 0))
	} else {
		put("feed_forward_length", c.int("shared_intermediate_size", 0))
	}
}

func nemotronConfig(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{"ssm.conv_kernel": "conv_kernel", "ssm.state_size": "ssm_state_size", "ssm.group_count": "n_groups", "ssm.time_step_rank": "mamba_num_heads"})
	put("ssm.inner_size", c.int("mamba_num_heads", 0)*c.int("mamba_head_dim", 0))
	pattern, _ := c.m["hybrid_override_pattern"].(string)
	var kv, ff []int64
	for _, r := range pattern {
		heads, width := int64(0), int64(0)
		switch r {
		case 'M':
		case '*':
			heads = c.int("num_key_value_heads", 0)
		case '-':
			width = c.int("intermediate_size", 0)
		default:
			c.refuse("layers of type %q in a model of type %s", r, c.kind)
		}
		kv, ff = append(kv, heads), append(ff, width)
	}
	put("attention.head_count_kv", kv)
	put("feed_forward_length", ff)
}

func lfm2Config(c *hfConfig, put func(string, any)) {
	c.sizes(put, map[string]string{"shortconv.l_cache": "conv_L_cache"})
	put("attention.head_count_kv", c.kinds(map[string]int64{"conv": 0, "full_attention": c.int("num_key_value_heads", 0)}))
	if c.int("block_ff_dim", 0) > 0 || c.flag("block_auto_adjust_ff_dim") {
		ff := c.int("block_ff_dim", c.int("intermediate_size", 0))
		if c.flag("block_auto_adjust_ff_dim") {
			width := float64(2 * ff / 3)
			if m, ok := number(c.m["block_ffn_dim_multiplier"]); ok {
				width = math.Floor(m * width)
			}
			if of := c.int("block_multiple_of", 1); of > 0 {
				ff = (int64(width) + of - 1) / of * of
			}
		}
		put("feed_forward_length", ff)
	}
	if c.kind == "lfm2_moe" {
		routedExperts(c, put)
		put("leading_dense_block_count", c.int("num_dense_layers", 0))
		put("expert_gating_func", int64(2))
	}
}

// changed makes the tensors of hybrids what GGUF files have, and reports whether it has.
func (tr *translation) changed(to *weights.Tensor) (bool, error) {
	_, name, _ := strings.Cut(strings.TrimPrefix(to.Name, "blk."), ".")
	meta := func(key string) int {
		n, _ := tr.to.Meta.Int(tr.f.arch + "." + key)
		return int(n)
	}
	switch name {
	case "ssm_a", "ssm_d":
		data, err := to.Read()
		if err != nil {
			return true, err
		}
		x := make([]float32, to.Elems())
		to.Type.Layout().Decode(x, data)
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
		if len(to.Shape) == 1 && tr.f.arch != "mamba" && !strings.HasPrefix(tr.f.arch, "qwen") {
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
	case "granitehybrid":
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
	if n, _ := tr.to.Meta.Int("granitehybrid.expert_count"); n > 0 {
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
		w := rows(to, i*n, (i+1)*n)
		w.Name = strings.Replace(to.Name, "ffn_up.weight", part+suffix, 1)
		if err := tr.put(w); err != nil {
			return true, err
		}
	}
	return true, nil
}

// rows is rows from up to to of t.
func rows(t *weights.Tensor, from, to int) *weights.Tensor {
	w := &weights.Tensor{Type: t.Type, Shape: append([]int{to - from}, t.Shape[1:]...)}
	row := t.Size() / t.Shape[0]
	whole := *t
	w.Later(func(dst []byte) error {
		data, err := whole.Read()
		if err != nil {
			return err
		}
		copy(dst, data[from*row:to*row])
		return nil
	})
	return w
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
		return true, tr.put(gather(to, to.Shape[0], order))
	default:
		return false, nil
	}
	order, err := tiledRows(to.Shape[0], first, heads, keys)
	if err != nil {
		return true, err
	}
	return true, tr.put(gather(to, 1, order))
}

// gather is t with the parts of each of so many runs in another order: of one run, its
// rows; of as many runs as it has rows, its columns.
func gather(t *weights.Tensor, runs int, order []int) *weights.Tensor {
	w := &weights.Tensor{Name: t.Name, Type: t.Type, Shape: slices.Clone(t.Shape)}
	from := *t
	w.Later(func(dst []byte) error {
		data, err := from.Read()
		if err != nil {
			return err
		}
		size := len(data) / runs / len(order)
		for r := range runs {
			run := data[r*len(order)*size : (r+1)*len(order)*size]
			for _, i := range order {
				dst = dst[copy(dst, run[i*size:(i+1)*size]):]
			}
		}
		return nil
	})
	return w
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
		w := gather(to, 1, order)
		w.Name, w.Shape[0] = strings.Replace(to.Name, "ssm_in", name, 1), len(order)
		size := to.Size() / to.Shape[0]
		from := *to
		w.Later(func(dst []byte) error {
			data, err := from.Read()
			if err != nil {
				return err
			}
			for _, i := range order {
				dst = dst[copy(dst, data[i*size:(i+1)*size]):]
			}
			return nil
		})
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

// multiplied is t as F32, each row multiplied by a number.
func multiplied(t *weights.Tensor, by func(row int) float64) *weights.Tensor {
	w := floats(t.Name, nil)
	w.Shape, w.Data = t.Shape, nil
	from := *t
	w.Later(func(dst []byte) error {
		data, err := from.Read()
		if err != nil {
			return err
		}
		x := make([]float32, from.Elems())
		from.Type.Layout().Decode(x, data)
		width := len(x) / max(1, t.Shape[0])
		for i := range x {
			x[i] = float32(float64(x[i]) * by(i/width))
		}
		w.Type.Layout().Encode(dst, x)
		return nil
	})
	return w
}
