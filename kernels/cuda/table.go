package cuda

import (
	"slices"
	"strconv"

	"quern/kernels/quant"
)

// Shorthands of the table.
func ptr(name, of string) Param   { return Param{name, Ptr, of} }
func num(name, of string) Param   { return Param{name, Int, of} }
func float(name, of string) Param { return Param{name, Float, of} }
func perRow(d Dims) [3]int        { return [3]int{d.Rows, 1, 1} }
func perValue(d Dims) [3]int      { return [3]int{ceil(d.Out, 256), d.Rows, 1} }
func perHead(d Dims) [3]int       { return [3]int{d.Heads, d.Rows, 1} }
func flat(d Dims) [3]int          { return [3]int{ceil(d.Rows*d.Out, 256), 1, 1} }
func perGroup(d Dims) [3]int      { return [3]int{ceil(d.In, 256), d.Rows, 1} }
func weightRows(d Dims) [3]int    { return [3]int{ceil(d.Out, 8), d.Rows, 1} }
func perBlocks(d Dims) [3]int     { return [3]int{ceil(d.Out, 256*32), d.Rows, 1} }
func perSplit(d Dims) [3]int      { return [3]int{d.Heads, d.Rows, d.Splits} }
func tiles(d Dims) [3]int         { return [3]int{ceil(d.Out, 64), ceil(d.Rows, 64), 1} }
func wideTiles(d Dims) [3]int     { return [3]int{ceil(d.Out, 128), ceil(d.Rows, 128), max(1, d.Splits)} }
func wideHalves(d Dims) [3]int    { return [3]int{ceil(d.Out, 128), ceil(d.Rows, 64), max(1, d.Splits)} }
func perUnits(d Dims) [3]int      { return [3]int{ceil(d.In, 256*8), d.Rows, 1} }

// Kernels is the table. A grid's y is at most 65535, so rows are too, but those of
// norms and of what is flat. Where a comment says "dst may be x" no other aliasing
// is allowed.
var Kernels = slices.Concat(rowKernels, weightKernels(), fusedKernels(), sampleKernels, attentionKernels(), latentKernels(), recurrentKernels(), adapterKernels)

var rowKernels = []Kernel{
	{Name: "quantize", Module: "rows", Op: "Linear", Threads: 256, Grid: perGroup, Uses: "In Rows",
		Doc:    "rows of x as ActQ8_32, to the bit as quant.QuantizeActQ8_32; grid.y is rows ≤ 65535",
		Params: []Param{ptr("dst", "ActQ8_32 (rows, n)"), ptr("x", "float32 (rows, n)"), num("n", "values of a row")}},
	{Name: "gemm90_x", Module: "gemm90", Op: "Linear", Threads: 256, Grid: perUnits, Uses: "In Rows",
		Doc:    "rows of x in bfloat16 as gemm90 reads them: GEMM90Words each. The order within 128 values is in src/gemm90.cu",
		Params: []Param{ptr("dst", "32-bit words (rows, GEMM90Words(n))"), ptr("x", "float32 (rows, n)"), num("n", "values of a row")}},
	{Name: "gemm90_norm", Module: "gemm90", Op: "RMSNorm", Threads: 256, Grid: perRow, Uses: "Rows",
		Doc:    "rmsnorm of whole rows, then gemm90_x",
		Params: []Param{ptr("dst", "32-bit words (rows, GEMM90Words(n))"), ptr("x", "float32 (rows, n)"), ptr("w", "float32 (n)"), num("n", "values of a row"), float("eps", "")}},
	{Name: "gemm90_sum", Module: "gemm90", Op: "Linear", Threads: 256, Grid: perValue, Uses: "Out, Rows",
		Doc:    "the parts of a product, in order, + bias + residual; dst may be residual",
		Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("part", "float32 (parts, rows, out)"), ptr("bias", "float32 (out), optional"), ptr("residual", "float32 (rows, out), optional"), num("out", ""), num("parts", "")}},
	{Name: "rmsnorm", Module: "rows", Op: "RMSNorm", Threads: 256, Grid: perRow, Uses: "Rows = groups of n: rows·width/n",
		Doc:    "x / rms(x) · w by groups of n; dst may be x",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("w", "float32 (groups, n)"), num("n", "values of a group"), num("groups", "whose weights w has, in turn"), float("eps", "")}},
	{Name: "rmsnorm_quantize", Module: "rows", Op: "RMSNorm", Threads: 256, Grid: perRow, Uses: "Rows",
		Doc:    "rmsnorm of whole rows, then quantize; dst (optional) gets the floats too, may be x",
		Params: []Param{ptr("q", "ActQ8_32 (rows, n)"), ptr("dst", "float32 (rows, n), optional"), ptr("x", "float32 (rows, n)"), ptr("w", "float32 (n)"), num("n", "values of a row"), float("eps", "")}},
	{Name: "layernorm", Module: "rows", Op: "LayerNorm", Threads: 256, Grid: perRow, Uses: "Rows = groups of n: rows·width/n",
		Doc:    "(x − mean)/√(variance+eps)·w + bias by groups of n; dst may be x",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("w", "float32 (groups, n)"), ptr("bias", "float32 (groups, n), optional"), num("n", "values of a group"), num("groups", "whose weights w has, in turn"), float("eps", "")}},
	{Name: "add", Module: "rows", Op: "Add", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc: "x + y; dst may be either", Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), ptr("y", "float32 (n)"), num("n", "values")}},
	{Name: "bias", Module: "rows", Op: "Bias", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc: "x + v for every row; dst may be x", Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("v", "float32 (n)"), num("n", "values of a row")}},
	{Name: "scale", Module: "rows", Op: "Scale", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc: "x · by; dst may be x", Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), num("n", "values"), float("by", "")}},
	{Name: "softcap", Module: "rows", Op: "SoftCap", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc: "limit · tanh(x / limit); dst may be x", Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), num("n", "values"), float("limit", "above 0")}},
	{Name: "gate", Module: "rows", Op: "Gate, Activate", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc:    "act(gate) · up; dst may be either. Act numbers are graph.Act's, from SiLU to Tanh",
		Params: []Param{ptr("dst", "float32 (n)"), ptr("gate", "float32 (n)"), ptr("up", "float32 (n), optional"), num("n", "values"), num("act", "0 to 7")}},
	{Name: "clamp", Module: "rows", Op: "Clamp", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc: "x kept within ±limit; dst may be x", Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), num("n", "values"), float("limit", "above 0")}},
	{Name: "xielu", Module: "rows", Op: "XIELU", Threads: 256, Grid: flat, Uses: "Rows·Out = n",
		Doc:    "vec.XIELU; dst may be x",
		Params: []Param{ptr("dst", "float32 (n)"), ptr("x", "float32 (n)"), num("n", "values"), float("positive", ""), float("negative", ""), float("beta", ""), float("epsilon", "")}},
	{Name: "temper", Module: "rows", Op: "Temper", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc:    "x · (1 + beta · ln(1 + ⌊(position + offset) / period⌋)) of the row; dst may be x",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("positions", "int32 (rows)"), num("n", "values of a row"), float("beta", ""), num("period", ""), num("offset", "")}},
	{Name: "head_cut", Module: "rows", Op: "HeadCut", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc:    "values from up to from + count of each head of x",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n/count·width)"), num("n", "values of a row of dst"), num("width", "of a head of x"), num("from", ""), num("count", "values of a head of dst")}},
	{Name: "head_join", Module: "rows", Op: "HeadJoin", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc:    "the heads of x, each with that of y behind it",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, heads, a)"), ptr("y", "float32 (rows, heads, b)"), num("n", "values of a row of dst"), num("a", ""), num("b", "")}},
	{Name: "weigh", Module: "rows", Op: "Weigh", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc: "x · sigmoid(weight of the row); dst may be x", Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("x", "float32 (rows, n)"), ptr("weight", "float32 (rows)"), num("n", "values of a row")}},
	{Name: "take", Module: "rows", Op: "Take", Threads: 256, Grid: perValue, Uses: "Out = n, Rows = want",
		Doc: "row rows[i] of x to row i of dst", Params: []Param{ptr("dst", "float32 (want, n)"), ptr("x", "float32 (rows, n)"), ptr("rows", "int32 (want)"), num("n", "values of a row")}},
	{Name: "rope", Module: "rows", Op: "Rope", Threads: 128, Grid: perHead, Uses: "Heads, Rows",
		Doc: "kernels.Rope with the rotations kernels.RopeTable makes; dst may be x. Table row at[r] serves row r, or row r without at",
		Params: []Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("x", "float32 (rows, heads, head_dim)"), ptr("cos", "float32 (table rows, pairs)"), ptr("sin", "float32 (table rows, pairs)"),
			ptr("at", "int32 (rows), optional"), num("heads", ""), num("head_dim", ""), num("pairs", "≤ head_dim/2"), num("interleaved", "0 or 1")}},

	{Name: "experts_choose", Module: "experts", Op: "Experts", Threads: 32, Grid: perRow, Uses: "Rows",
		Doc: "the experts of every row, likeliest first, and their weights, as kernels.Experts chooses",
		Params: []Param{ptr("chosen", "int32 (rows, used)"), ptr("weight", "float32 (rows, used)"), ptr("router", "float32 (rows, experts)"), num("experts", "≤ 1024"), num("used", "≤ experts"),
			num("renormalise", "0 or 1"), num("sparse_mixer", "0 or 1"), float("jitter", "")}},
	{Name: "experts_route", Module: "experts", Op: "Experts", Threads: 32, Grid: perRow, Uses: "Rows",
		Doc: "experts_choose for routings that are not plain, as matmul.Routing has them",
		Params: []Param{ptr("chosen", "int32 (rows, used)"), ptr("weight", "float32 (rows, used)"), ptr("by", "float32 (rows, used), optional: gets the weights, and weight ones"), ptr("router", "float32 (rows, experts)"),
			ptr("bias", "float32 (experts), optional"), ptr("factors", "float32 (experts), optional"), num("experts", "≤ 1024"), num("used", "≤ experts"), num("sigmoids", "0 or 1"),
			num("groups", "≤ 64"), num("used_groups", "≤ groups"), num("group_max", "0 or 1"), num("renormalise", "0 or 1"), float("scale", "0: none")}},
	{Name: "experts_inputs", Module: "experts", Op: "Experts", Threads: 256, Grid: perValue, Uses: "Out = n, Rows = slots",
		Doc:    "row s/used of x by number s of by",
		Params: []Param{ptr("dst", "float32 (slots, n)"), ptr("x", "float32 (slots/used, n)"), ptr("by", "float32 (slots)"), num("n", "values of a row"), num("used", "")}},
	{Name: "experts_combine", Module: "experts", Op: "Experts", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc:    "Σ weight · y over a row's slots",
		Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("y", "float32 (rows, used, n)"), ptr("weight", "float32 (rows, used)"), num("n", "values of a row"), num("used", "")}},
}

// weightKernels are the kernels there is one of for every type of weights.
func weightKernels() []Kernel {
	var ks []Kernel
	for _, t := range Types {
		x := "float32 (rows, in)"
		if Quantised(t) {
			x = "ActQ8_32 (rows, in)"
		}
		w := t.String() + " (out, in)"
		for _, r := range GEMVRows {
			ks = append(ks, Kernel{Name: Name("gemv", t) + "_" + strconv.Itoa(r), Module: "gemv", Op: "Linear", Threads: 128, Uses: "Out, Rows",
				Grid: func(d Dims) [3]int { return [3]int{ceil(d.Out, 8), ceil(d.Rows, r), 1} },
				Doc:  "x · wᵀ + bias + residual; dst may be residual. Each pass over w takes " + strconv.Itoa(r) + " rows; any number of rows works",
				Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("w", w), ptr("x", x), ptr("bias", "float32 (out), optional"), ptr("residual", "float32 (rows, out), optional"),
					num("out", ""), num("in", "whole blocks"), num("rows", "")}})
		}
		ks = append(ks,
			Kernel{Name: Name("embed", t), Module: "rows", Op: "Embed", Threads: 256, Grid: perBlocks, Uses: "Out = n, Rows",
				Doc:    "row ids[r] of w as floats, exactly what the CPU decodes; ids are not checked",
				Params: []Param{ptr("dst", "float32 (rows, n)"), ptr("w", t.String()+" (vocab, n)"), ptr("ids", "int32 (rows)"), num("n", "whole blocks")}},
			Kernel{Name: Name("expert_gemv", t), Module: "experts", Op: "Experts", Threads: 128, Grid: weightRows, Uses: "Out, Rows = slots",
				Doc:    "slot s, which is row s/per of x, through matrix chosen[s] of w. per is used for gate and up, 1 for down. Without chosen: slot s, which is row s of x, through matrix s%per",
				Params: []Param{ptr("dst", "float32 (slots, out)"), ptr("w", t.String()+" (experts, out, in)"), ptr("x", "activations as gemv's of that type, (slots/per, in)"), ptr("bias", "float32 (experts, out), optional"), ptr("chosen", "int32 (slots), optional"), num("out", ""), num("in", "whole blocks"), num("per", "")}},
			Kernel{Name: Name("gemm", t), Module: "gemm", Op: "Linear", Threads: 128, Grid: tiles, Uses: "Out, Rows",
				Doc:    "x · wᵀ + bias + residual on tensor cores in bf16, for many rows; dst may be residual. x is float32 whatever the type",
				Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("w", w), ptr("x", "float32 (rows, in)"), ptr("bias", "float32 (out), optional"), ptr("residual", "float32 (rows, out), optional"), num("out", ""), num("in", "whole blocks"), num("rows", "")}})
		wide := Kernel{Name: Name("gemm90", t), Module: "gemm90", Op: "Linear", Threads: 256, Grid: wideTiles, Uses: "Out, Rows, Splits",
			Doc:    "gemm's product by the tensor cores of capability 9.0; in is a multiple of 16. With splits that cut in into parts, dst is those, without bias and residual, for gemm90_sum",
			Params: slices.Concat(ks[len(ks)-1].Params[:2], []Param{ptr("x", "of gemm90_x")}, ks[len(ks)-1].Params[3:])}
		half := wide
		half.Name, half.Grid, half.Doc = GEMM90Name(t, 64), wideHalves, "gemm90 by 64 rows at a time"
		wide.Shared, half.Shared = gemm90Shared(t, 128), gemm90Shared(t, 64)
		ks = append(ks, wide, half)
		if Quantised(t) {
			ks = append(ks, Kernel{Name: Name("gemm8", t), Module: "gemm", Op: "Linear", Threads: 128, Grid: tiles, Uses: "Out, Rows",
				Doc:    "gemv's product on int8 tensor cores, for 9 to 64 rows and more; dst may be residual",
				Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("w", w), ptr("x", x), ptr("bias", "float32 (out), optional"), ptr("residual", "float32 (rows, out), optional"), num("out", ""), num("in", "whole blocks"), num("rows", "")}})
		}
	}
	return ks
}

// CacheTypes are the types of KV caches.
var CacheTypes = []quant.Type{quant.F16, quant.BF16, quant.F8_E4M3, quant.Q8_0, quant.F32}

// PrefillHeads are the sizes of heads that attend_prefill_* has kernels for.
var PrefillHeads = []int{64, 80, 96, 128, 256}

// PrefillName returns the kernel for many rows of few sequences, "" where there is none:
// an F32 cache is chosen for its precision, which tensor cores would lose.
func PrefillName(t quant.Type, headDim int) string {
	if _, whole := t.Size(headDim); t == quant.F32 || !whole || !slices.Contains(CacheTypes, t) || !slices.Contains(PrefillHeads, headDim) {
		return ""
	}
	return Name("attend_prefill", t) + "_" + strconv.Itoa(headDim)
}

// GroupName returns the kernel for single rows that handles the group query heads of a key
// head together, "" where there is none.
func GroupName(t quant.Type, headDim, group int) string {
	if headDim%32 != 0 || group > 8 || PrefillName(t, headDim) == "" {
		return ""
	}
	return Name("attend_group", t) + "_" + strconv.Itoa(headDim)
}

// Heads that attend_T and attend_wide_T have registers for.
const (
	maxHead = 256
	MaxHead = 512

	MaxSidedHead = maxHead // of attend_sides_T
)

// AttendName returns the kernel for any rows with heads of headDim, at most MaxHead.
func AttendName(t quant.Type, headDim int) string {
	if headDim > maxHead {
		return Name("attend_wide", t)
	}
	return Name("attend", t)
}

// attentionKernels are the kernels that write and read KV caches.
func attentionKernels() []Kernel {
	var ks []Kernel
	for _, t := range CacheTypes {
		cache := ptr("cache", t.String()+" (blocks, 2, kv_heads, block_size, head_dim): the layer")
		rows := []Param{ptr("tables", "int32 (sequences, table_len): block numbers"), ptr("seq", "int32 (rows): row of tables"), ptr("ends", "int32 (rows): tokens up to end are seen; 0 for a row of padding")}
		ks = append(ks,
			Kernel{Name: Name("kv_put", t), Module: "attention", Op: "Attention", Threads: 256, Grid: perValue, Uses: "Out = kv_heads·head_dim, Rows",
				Doc: "stores keys and values at their slots of one layer of a cache laid out as kernels.KV; slot is block · block_size + place; head_dim is whole blocks",
				Params: []Param{cache, ptr("k", "float32 (rows, kv_heads, head_dim)"), ptr("v", "float32 (rows, kv_heads, head_dim)"),
					ptr("slots", "int32 (rows), below 0: nothing is stored"), num("kv_heads", ""), num("head_dim", ""), num("block_size", "")}})
		attend := Kernel{Name: Name("attend", t), Module: "attention", Op: "Attention", Threads: 128, Grid: perSplit, Uses: "Heads, Rows, Splits",
			Doc: "each head's softmax over tokens [max(0, end − window), end) of its row's sequence, cut into grid.z parts; attend_combine finishes. Decode and prefill, where there is no kernel for either",
			Params: slices.Concat([]Param{ptr("part", "float32 (rows, heads, splits, head_dim + 2), scratch"), ptr("q", "float32 (rows, heads, head_dim)"), cache}, rows,
				[]Param{num("table_len", ""), num("heads", ""), num("kv_heads", "divides heads"), num("head_dim", "≤ 256"), num("block_size", ""), num("window", "0: none, below 0: runs of −window tokens"),
					float("scale", "of the scores"), float("softcap", "0: none")})}
		wide := attend
		wide.Name, wide.Doc = AttendName(t, MaxHead), "attend for heads of up to "+strconv.Itoa(MaxHead)
		sides := attend
		sides.Name, sides.Doc = Name("attend_sides", t), "attend for a window to both sides, half each, or slopes, which count from a row's own position"
		sides.Params = slices.Insert(slices.Clone(attend.Params), 6, ptr("positions", "int32 (rows)"), ptr("slopes", "float32 (heads), optional"))
		ks = append(ks, attend, wide, sides)
		for _, n := range PrefillHeads {
			name := PrefillName(t, n)
			if name == "" {
				continue
			}
			threads := 128
			if n > 128 {
				threads = 256
			}
			if name := GroupName(t, n, 1); name != "" {
				ks = append(ks, Kernel{Name: name, Module: Name("attention", t), Op: "Attention", Threads: threads, Grid: perSplit, Uses: "Heads = kv_heads, Rows, Splits",
					Doc: "attend_* and attend_combine on tensor cores, for heads of " + strconv.Itoa(n) + ", up to eight to a key head; dst may be q",
					Params: slices.Concat([]Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("part", "float32 (rows, heads, splits, head_dim + 2), scratch of more than one split"),
						ptr("arrived", "int32 (rows, kv_heads), zeros before and after"), ptr("q", "float32 (rows, heads, head_dim)"), cache}, rows,
						[]Param{ptr("sinks", "float32 (heads), optional"), num("table_len", ""), num("heads", ""), num("kv_heads", "divides heads"), num("block_size", ""), num("window", "0: none, below 0: runs of −window tokens"), float("scale", "of the scores"), float("softcap", "0: none")})})
			}
			ks = append(ks, Kernel{Name: name, Module: Name("attention", t), Op: "Attention", Threads: threads, Grid: perTile, Uses: "Heads, Rows",
				Doc: "attend_* and attend_combine on tensor cores, for heads of " + strconv.Itoa(n) + " and rows that are many of few sequences, those of one side by side; dst may be q. table_len · block_size and tokens · 2 · kv_heads of the layer fit an int32",
				Params: slices.Concat([]Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("q", "float32 (rows, heads, head_dim)"), cache}, rows,
					[]Param{ptr("sinks", "float32 (heads), optional"), num("table_len", ""), num("rows", ""), num("heads", ""), num("kv_heads", "divides heads"), num("block_size", ""), num("window", "0: none, below 0: runs of −window tokens"),
						float("scale", "of the scores"), float("softcap", "0: none")})})
		}
	}
	return append(ks, Kernel{Name: "attend_combine", Module: "attention", Op: "Attention, LatentAttention", Threads: 128, Uses: "Heads, Rows, Out = head_dim",
		Grid: func(d Dims) [3]int { return [3]int{d.Heads, d.Rows, max(1, ceil(d.Out, maxHead))} },
		Doc:  "puts the parts of attend_* together; always the launch after it",
		Params: []Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("part", "float32 (rows, heads, splits, head_dim + 2)"), ptr("sinks", "float32 (heads), optional"),
			num("heads", ""), num("head_dim", ""), num("splits", "")}})
}

// perTile is a grid of one block for 64 rows of a head.
func perTile(d Dims) [3]int { return [3]int{d.Heads, ceil(d.Rows, 64), 1} }

// MaxTop is how many of a row's largest logits top gives, topSlice how many logits
// a block of top_part sorts.
const (
	MaxTop   = 256
	topSlice = 2048
)

// TopSlices returns into how many slices top_part cuts rows of n logits.
func TopSlices(n int) int { return ceil(n, topSlice) }

const order = ": the larger first, of equals the lower number, NaN before all"

// MaskWords returns the length of a mask of n logits for bar.
func MaskWords(n int) int { return ceil(n, 32) }

var sampleKernels = []Kernel{
	{Name: "bar", Module: "sample", Op: "logits", Threads: 256, Grid: perValue, Uses: "Out = n, Rows",
		Doc:    "sets the logits of a row that its mask does not have, bit i%32 of word i/32, to -Inf; before argmax or top_part",
		Params: []Param{ptr("logits", "float32 (rows, n)"), ptr("at", "int32 (rows), the mask of each, below 0: none"), ptr("masks", "uint32 (masks, MaskWords(n))"), num("n", "vocab")}},
	{Name: "argmax", Module: "sample", Op: "logits", Threads: 1024, Grid: perRow, Uses: "Rows",
		Doc:    "the first logit of every row" + order,
		Params: []Param{ptr("ids", "int32 (rows)"), ptr("values", "float32 (rows)"), ptr("logits", "float32 (rows, n)"), num("n", "vocab")}},
	{Name: "top_part", Module: "sample", Op: "logits", Threads: 256, Grid: func(d Dims) [3]int { return [3]int{TopSlices(d.Out), d.Rows, 1} }, Uses: "Out = n, Rows",
		Doc:    "the first MaxTop logits of every slice of a row, in order, for top",
		Params: []Param{ptr("part", "uint64 (rows, TopSlices(n), MaxTop), scratch"), ptr("logits", "float32 (rows, n)"), num("n", "vocab")}},
	{Name: "top", Module: "sample", Op: "logits", Threads: 256, Grid: perRow, Uses: "Rows",
		Doc:    "the first MaxTop logits of every row, in order" + order + "; -1 and 0 where there are no more. Always the launch after top_part",
		Params: []Param{ptr("ids", "int32 (rows, MaxTop)"), ptr("values", "float32 (rows, MaxTop)"), ptr("part", "uint64 (rows, slices, MaxTop)"), num("slices", "TopSlices(n)")}},
}
