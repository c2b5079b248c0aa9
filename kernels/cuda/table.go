package cuda

import "strconv"

// Shorthands of the table.
func ptr(name, of string) Param   { return Param{name, Ptr, of} }
func num(name, of string) Param   { return Param{name, Int, of} }
func float(name, of string) Param { return Param{name, Float, of} }
func perRow(d Dims) [3]int        { return [3]int{d.Rows, 1, 1} }
func perValue(d Dims) [3]int      { return [3]int{ceil(d.Out, 256), d.Rows, 1} }
func perHead(d Dims) [3]int       { return [3]int{d.Heads, d.Rows, 1} }
func flat(d Dims) [3]int          { return [3]int{ceil(d.Rows*d.Out, 256), 1, 1} }
func perGroup(d Dims) [3]int      { return [3]int{ceil(d.In, 256), d.Rows, 1} }
func weightRows(d Dims) [3]int    { return [3]int{ceil(d.Out, 4), d.Rows, 1} }
func perBlocks(d Dims) [3]int     { return [3]int{ceil(d.Out, 256*32), d.Rows, 1} }
func perSplit(d Dims) [3]int      { return [3]int{d.Heads, d.Rows, d.Splits} }
func tiles(d Dims) [3]int         { return [3]int{ceil(d.Out, 64), ceil(d.Rows, 64), 1} }

// Kernels is the table. A grid's y is at most 65535, so rows are too, but those of
// norms and of what is flat. Where a comment says "dst may be x" no other aliasing
// is allowed.
var Kernels = append(rowKernels, weightKernels()...)

var rowKernels = []Kernel{
	{Name: "quantize", Module: "rows", Op: "Linear", Threads: 256, Grid: perGroup, Uses: "In Rows",
		Doc:    "rows of x as X32, to the bit as quant.QuantizeX32; grid.y is rows ≤ 65535",
		Params: []Param{ptr("dst", "X32 (rows, n)"), ptr("x", "float32 (rows, n)"), num("n", "values of a row")}},
	{Name: "rmsnorm", Module: "rows", Op: "RMSNorm", Threads: 256, Grid: perRow, Uses: "Rows = groups of n: rows·width/n",
		Doc:    "x / rms(x) · w by groups of n; dst may be x",
		Params: []Param{ptr("dst", "float32 (groups, n)"), ptr("x", "float32 (groups, n)"), ptr("w", "float32 (n)"), num("n", "values of a group"), float("eps", "")}},
	{Name: "rmsnorm_quantize", Module: "rows", Op: "RMSNorm", Threads: 256, Grid: perRow, Uses: "Rows",
		Doc:    "rmsnorm of whole rows, then quantize; dst (optional) gets the floats too, may be x",
		Params: []Param{ptr("q", "X32 (rows, n)"), ptr("dst", "float32 (rows, n), optional"), ptr("x", "float32 (rows, n)"), ptr("w", "float32 (n)"), num("n", "values of a row"), float("eps", "")}},
	{Name: "layernorm", Module: "rows", Op: "LayerNorm", Threads: 256, Grid: perRow, Uses: "Rows",
		Doc:    "(x − mean)/√(variance+eps)·w + bias; dst may be x",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("w", "float32 (n)"), ptr("bias", "float32 (n), optional"), num("n", "values of a row"), float("eps", "")}},
	{Name: "add", Module: "rows", Op: "Add", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc: "x + y; dst may be either", Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), ptr("y", "float32 (n)"), num("n", "values")}},
	{Name: "bias", Module: "rows", Op: "Bias", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc: "x + v for every row; dst may be x", Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("v", "float32 (n)"), num("n", "values of a row")}},
	{Name: "scale", Module: "rows", Op: "Scale", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc: "x · by; dst may be x", Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), num("n", "values"), float("by", "")}},
	{Name: "softcap", Module: "rows", Op: "SoftCap", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc: "limit · tanh(x / limit); dst may be x", Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), num("n", "values"), float("limit", "above 0")}},
	{Name: "gate", Module: "rows", Op: "Gate, Activate", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc:    "act(gate) · up; dst may be either. Act numbers are graph.Act's: 0 SiLU, 1 GELU, 2 GELUTanh, 3 SwiGLUClamped",
		Params: []Param{ptr("dst", "float32 (n)"), ptr("gate", "float32 (n)"), ptr("up", "float32 (n), optional for 1 and 2"), num("n", "values"), num("act", "0 to 3")}},
	{Name: "weigh", Module: "rows", Op: "Weigh", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc: "x · sigmoid(weight of the row); dst may be x", Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("weight", "float32 (rows)"), num("n", "values of a row")}},
	{Name: "take", Module: "rows", Op: "Take", Threads: 256, Grid: perValue, Uses: "Out = n, Rows = want",
		Doc: "row rows[i] of x to row i of dst", Params: []Param{ptr("dst", "float32 (want, n)"), ptr("x", "float32 (rows, n)"), ptr("rows", "int32 (want)"), num("n", "values of a row")}},
	{Name: "rope", Module: "rows", Op: "Rope", Threads: 128, Grid: perHead, Uses: "Heads, Rows",
		Doc: "kernels.Rope with the rotations kernels.RopeTable makes; dst may be x. Table row at[r] serves row r, or row r without at",
		Params: []Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("x", "float32 (rows, heads, head_dim)"), ptr("cos", "float32 (table rows, pairs)"), ptr("sin", "float32 (table rows, pairs)"),
			ptr("at", "int32 (rows), optional"), num("heads", ""), num("head_dim", ""), num("pairs", "≤ head_dim/2"), num("interleaved", "0 or 1")}},

	{Name: "kv_put_f16", Module: "attention", Op: "Attention", Threads: 256, Grid: perValue, Uses: "Out = kv_heads·head_dim, Rows", Doc: kvPut, Params: kvPutParams("F16")},
	{Name: "kv_put_f32", Module: "attention", Op: "Attention", Threads: 256, Grid: perValue, Uses: "Out = kv_heads·head_dim, Rows", Doc: kvPut, Params: kvPutParams("F32")},
	{Name: "kv_put_q8_0", Module: "attention", Op: "Attention", Threads: 256, Grid: perValue, Uses: "Out = kv_heads·head_dim, Rows", Doc: kvPut + "; head_dim is a multiple of 32", Params: kvPutParams("Q8_0")},
	{Name: "attend_f16", Module: "attention", Op: "Attention", Threads: 128, Grid: perSplit, Uses: "Heads, Rows, Splits", Doc: attend, Params: attendParams("F16")},
	{Name: "attend_f32", Module: "attention", Op: "Attention", Threads: 128, Grid: perSplit, Uses: "Heads, Rows, Splits", Doc: attend, Params: attendParams("F32")},
	{Name: "attend_q8_0", Module: "attention", Op: "Attention", Threads: 128, Grid: perSplit, Uses: "Heads, Rows, Splits", Doc: attend, Params: attendParams("Q8_0")},
	{Name: "attend_combine", Module: "attention", Op: "Attention", Threads: 128, Grid: perHead, Uses: "Heads, Rows",
		Doc: "puts the parts of attend_* together; always the launch after it",
		Params: []Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("part", "float32 (rows, heads, splits, head_dim + 2)"), ptr("sinks", "float32 (heads), optional"),
			num("heads", ""), num("head_dim", "≤ 256"), num("splits", "")}},

	{Name: "experts_choose", Module: "experts", Op: "Experts", Threads: 32, Grid: perRow, Uses: "Rows",
		Doc: "the experts of every row, likeliest first, and their weights, as kernels.Experts chooses",
		Params: []Param{ptr("chosen", "int32 (rows, used)"), ptr("weight", "float32 (rows, used)"), ptr("router", "float32 (rows, experts)"), num("experts", "≤ 1024"), num("used", "≤ experts"),
			num("renormalise", "0 or 1"), num("sparse_mixer", "0 or 1"), float("jitter", "")}},
	{Name: "experts_combine", Module: "experts", Op: "Experts", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc:    "Σ weight · y over a row's slots",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("y", "float32 (rows, used, n)"), ptr("weight", "float32 (rows, used)"), num("n", "values of a row"), num("used", "")}},

	{Name: "argmax", Module: "sample", Op: "logits", Threads: 256, Grid: perRow, Uses: "Rows",
		Doc: "the number of the highest logit, the lower of equals", Params: []Param{ptr("dst", "int32 (rows)"), ptr("logits", "float32 (rows, n)"), num("n", "vocab")}},
	{Name: "sample", Module: "sample", Op: "logits", Threads: 256, Grid: perRow, Uses: "Rows",
		Doc:    "one of the k likeliest tokens by softmax(logits / temperature): the first, likeliest first, whose cumulated probability passes u. k ≤ 256",
		Params: []Param{ptr("dst", "int32 (rows)"), ptr("logits", "float32 (rows, n)"), ptr("u", "float32 (rows) in [0, 1)"), ptr("temperature", "float32 (rows) above 0"), ptr("k", "int32 (rows)"), num("n", "vocab")}},
}

const kvPut = "stores keys and values at their slots of one layer of a cache laid out as kernels.KV; slot is block · block_size + place"

func kvPutParams(t string) []Param {
	return []Param{ptr("cache", t+" (blocks, 2, kv_heads, block_size, head_dim): the layer"), ptr("k", "float32 (rows, kv_heads, head_dim)"), ptr("v", "float32 (rows, kv_heads, head_dim)"),
		ptr("slots", "int32 (rows), below 0: nothing is stored"), num("kv_heads", ""), num("head_dim", ""), num("block_size", "")}
}

const attend = "each head's softmax over tokens [max(0, end − window), end) of its row's sequence, cut into grid.z parts; attend_combine finishes. Decode and prefill alike"

func attendParams(t string) []Param {
	return []Param{ptr("part", "float32 (rows, heads, splits, head_dim + 2), scratch"), ptr("q", "float32 (rows, heads, head_dim)"), ptr("cache", t+" (blocks, 2, kv_heads, block_size, head_dim): the layer"),
		ptr("tables", "int32 (sequences, table_len): block numbers"), ptr("seq", "int32 (rows): row of tables"), ptr("ends", "int32 (rows): tokens up to end are seen; 0 for a row of padding"),
		num("table_len", ""), num("heads", ""), num("kv_heads", "divides heads"), num("head_dim", "≤ 256"), num("block_size", ""), num("window", "0: none"),
		float("scale", "of the scores"), float("softcap", "0: none")}
}

// weightKernels are the kernels there is one of for every type of weights.
func weightKernels() []Kernel {
	var ks []Kernel
	for _, t := range Types {
		x := "float32 (rows, in)"
		if Quantised(t) {
			x = "X32 (rows, in)"
		}
		w := t.String() + " (out, in)"
		for _, r := range GEMVRows {
			ks = append(ks, Kernel{Name: Name("gemv", t) + "_" + strconv.Itoa(r), Module: "gemv", Op: "Linear", Threads: 128, Uses: "Out, Rows",
				Grid: func(d Dims) [3]int { return [3]int{ceil(d.Out, 4), ceil(d.Rows, r), 1} },
				Doc:  "x · wᵀ + bias + residual; dst may be residual. Each pass over w takes " + strconv.Itoa(r) + " rows; any number of rows works",
				Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("w", w), ptr("x", x), ptr("bias", "float32 (out), optional"), ptr("residual", "float32 (rows, out), optional"),
					num("out", ""), num("in", "whole blocks"), num("rows", "")}})
		}
		ks = append(ks,
			Kernel{Name: Name("embed", t), Module: "rows", Op: "Embed", Threads: 256, Grid: perBlocks, Uses: "Out = n, Rows",
				Doc:    "row ids[r] of w as floats, exactly what the CPU decodes; ids are not checked",
				Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("w", t.String()+" (vocab, n)"), ptr("ids", "int32 (rows)"), num("n", "whole blocks")}},
			Kernel{Name: Name("expert_gemv", t), Module: "experts", Op: "Experts", Threads: 128, Grid: weightRows, Uses: "Out, Rows = slots",
				Doc:    "slot s, which is row s/per of x, through matrix chosen[s] of w. per is used for gate and up, 1 for down",
				Params: []Param{ptr("dst", "float32 (slots, out)"), ptr("w", t.String()+" (experts, out, in)"), ptr("x", "activations as gemv's of that type, (slots/per, in)"), ptr("bias", "float32 (experts, out), optional"), ptr("chosen", "int32 (slots)"), num("out", ""), num("in", "whole blocks"), num("per", "")}},
			Kernel{Name: Name("gemm", t), Module: "gemm", Op: "Linear", Threads: 128, Grid: tiles, Uses: "Out, Rows",
				Doc:    "x · wᵀ + bias + residual on tensor cores in bf16, for many rows; dst may be residual. x is float32 whatever the type",
				Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("w", w), ptr("x", "float32 (rows, in)"), ptr("bias", "float32 (out), optional"), ptr("residual", "float32 (rows, out), optional"), num("out", ""), num("in", "whole blocks"), num("rows", "")}})
		if Quantised(t) {
			ks = append(ks, Kernel{Name: Name("gemm8", t), Module: "gemm", Op: "Linear", Threads: 128, Grid: tiles, Uses: "Out, Rows",
				Doc:    "gemv's product on int8 tensor cores, for 9 to 64 rows and more; dst may be residual",
				Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("w", w), ptr("x", x), ptr("bias", "float32 (out), optional"), ptr("residual", "float32 (rows, out), optional"), num("out", ""), num("in", "whole blocks"), num("rows", "")}})
		}
	}
	return ks
}
