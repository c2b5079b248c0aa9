package cuda

import (
	"slices"
	"strconv"

	"quern/kernels/quant"
)

// CacheTypes are the types of KV caches.
var CacheTypes = []quant.Type{quant.F16, quant.BF16, quant.F8_E4M3, quant.Q8_0, quant.F32}

// PrefillHeads are the sizes of heads that attend_prefill_* has kernels for.
var PrefillHeads = []int{64, 80, 96, 128, 256}

// PrefillName returns the kernel that attends for rows that are many of few
// sequences, "" where there is none: an F32 cache is for who wants its precision.
func PrefillName(t quant.Type, headDim int) string {
	if _, whole := t.Size(headDim); t == quant.F32 || !whole || !slices.Contains(CacheTypes, t) || !slices.Contains(PrefillHeads, headDim) {
		return ""
	}
	return Name("attend_prefill", t) + "_" + strconv.Itoa(headDim)
}

// GroupName returns the kernel that attends for single rows and group query heads
// a key head together, "" where there is none.
func GroupName(t quant.Type, headDim, group int) string {
	if headDim%32 != 0 || group > 8 || PrefillName(t, headDim) == "" {
		return ""
	}
	return Name("attend_group", t) + "_" + strconv.Itoa(headDim)
}

// attentionKernels are those that write and read KV caches.
func attentionKernels() []Kernel {
	var ks []Kernel
	for _, t := range CacheTypes {
		cache := ptr("cache", t.String()+" (blocks, 2, kv_heads, block_size, head_dim): the layer")
		rows := []Param{ptr("tables", "int32 (sequences, table_len): block numbers"), ptr("seq", "int32 (rows): row of tables"), ptr("ends", "int32 (rows): tokens up to end are seen; 0 for a row of padding")}
		ks = append(ks,
			Kernel{Name: Name("kv_put", t), Module: "attention", Op: "Attention", Threads: 256, Grid: perValue, Uses: "Out = kv_heads·head_dim, Rows",
				Doc: "stores keys and values at their slots of one layer of a cache laid out as kernels.KV; slot is block · block_size + place; head_dim is whole blocks",
				Params: []Param{cache, ptr("k", "float32 (rows, kv_heads, head_dim)"), ptr("v", "float32 (rows, kv_heads, head_dim)"),
					ptr("slots", "int32 (rows), below 0: nothing is stored"), num("kv_heads", ""), num("head_dim", ""), num("block_size", "")}},
			Kernel{Name: Name("attend", t), Module: "attention", Op: "Attention", Threads: 128, Grid: perSplit, Uses: "Heads, Rows, Splits",
				Doc: "each head's softmax over tokens [max(0, end − window), end) of its row's sequence, cut into grid.z parts; attend_combine finishes. Decode and prefill, where there is no kernel for either",
				Params: slices.Concat([]Param{ptr("part", "float32 (rows, heads, splits, head_dim + 2), scratch"), ptr("q", "float32 (rows, heads, head_dim)"), cache}, rows,
					[]Param{num("table_len", ""), num("heads", ""), num("kv_heads", "divides heads"), num("head_dim", "≤ 256"), num("block_size", ""), num("window", "0: none"),
						float("scale", "of the scores"), float("softcap", "0: none")})})
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
						[]Param{ptr("sinks", "float32 (heads), optional"), num("table_len", ""), num("heads", ""), num("kv_heads", "divides heads"), num("block_size", ""), num("window", "0: none"), float("scale", "of the scores"), float("softcap", "0: none")})})
			}
			ks = append(ks, Kernel{Name: name, Module: Name("attention", t), Op: "Attention", Threads: threads, Grid: perTile, Uses: "Heads, Rows",
				Doc: "attend_* and attend_combine on tensor cores, for heads of " + strconv.Itoa(n) + " and rows that are many of few sequences, those of one side by side; dst may be q. table_len · block_size and tokens · 2 · kv_heads of the layer fit an int32",
				Params: slices.Concat([]Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("q", "float32 (rows, heads, head_dim)"), cache}, rows,
					[]Param{ptr("sinks", "float32 (heads), optional"), num("table_len", ""), num("rows", ""), num("heads", ""), num("kv_heads", "divides heads"), num("block_size", ""), num("window", "0: none"),
						float("scale", "of the scores"), float("softcap", "0: none")})})
		}
	}
	return append(ks, Kernel{Name: "attend_combine", Module: "attention", Op: "Attention", Threads: 128, Grid: perHead, Uses: "Heads, Rows",
		Doc: "puts the parts of attend_* together; always the launch after it",
		Params: []Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("part", "float32 (rows, heads, splits, head_dim + 2)"), ptr("sinks", "float32 (heads), optional"),
			num("heads", ""), num("head_dim", "≤ 256"), num("splits", "")}})
}

// perTile is a block for 64 rows of a head.
func perTile(d Dims) [3]int { return [3]int{d.Heads, ceil(d.Rows, 64), 1} }
