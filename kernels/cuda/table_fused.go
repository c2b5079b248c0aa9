package cuda

import (
	"fmt"
	"slices"
	"strconv"

	"quern/kernels/quant"
)

// MaxHeld is the most bytes of activations a block of a fused kernel holds; every device
// has that much shared memory.
const MaxHeld = 48<<10 - 64

// Held returns the bytes of dynamic shared memory FusedName's kernel needs for
// that many rows of in activations.
func Held(t quant.Type, rows, in int) int {
	_, rows = passes(rows)
	if Quantised(t) {
		return rows * quant.ActBytes(quant.ActQ8_32, in)
	}
	return rows * 4 * in
}

// MaxUsed is how many experts of a row fused kernels serve.
const MaxUsed = 64

// ExpertRoom is how many pairs of numbers experts_down has room for.
const ExpertRoom = 512

// MaxExperts is among how many experts the kernels choose.
const MaxExperts = 1024

// ExpertsHeld returns the bytes of dynamic shared memory the kernels ExpertsName
// gives need, for a row of in activations: "gated" holds one, "down" one of every
// expert used.
func ExpertsHeld(stem string, t quant.Type, used, in int) int {
	if stem == "gated" {
		return Held(t, 1, in)
	}
	return used*Held(t, 1, in) + 8*ExpertRoom
}

// ExpertsName returns the kernel "gated" or "down" of experts whose weights are of t,
// or of any other type that takes the same activations.
func ExpertsName(stem string, t quant.Type) string { return "experts_" + stem + "_" + side(t) }

// side is the name that fused kernels have for the types with such activations.
func side(t quant.Type) string {
	if Quantised(t) {
		return "blocks"
	}
	return "floats"
}

// passes returns the smallest of GEMVRows that holds so many rows, and how many
// rows a block holds of them.
func passes(rows int) (per, held int) {
	for _, per = range GEMVRows {
		if per >= rows {
			break
		}
	}
	return per, min(rows, per)
}

// FusedName returns the kernel "project" or "gated" for weights of t, or any
// others that take the same activations.
func FusedName(stem string, t quant.Type, rows int) string {
	per, _ := passes(rows)
	return stem + "_" + side(t) + "_" + strconv.Itoa(per)
}

// TypeNumber is the number of a matrix's type in fused kernels.
func TypeNumber(t quant.Type) int { return slices.Index(Types, t) }

// fusedThreads is how many threads a block has that holds r rows. A multiprocessor
// of any device has registers for one such block, and no more.
func fusedThreads(r int) int {
	if r <= 2 {
		return 640
	}
	return 512
}

// fusedKernels do the work of several other kernels in one launch.
func fusedKernels() []Kernel {
	var ks []Kernel
	for _, side := range []string{"blocks", "floats"} {
		for _, r := range GEMVRows {
			grid := func(d Dims) [3]int { return [3]int{d.Blocks, ceil(d.Rows, r), 1} }
			type1 := "place of the type in Types, one of those that take " + map[string]string{"blocks": "ActQ8_32", "floats": "float32"}[side]
			three := func(i int, what string) []Param {
				n := strconv.Itoa(i)
				return []Param{ptr("y"+n, "float32 (rows, out"+n+")"), ptr("w"+n, "(out"+n+", in)"), ptr("b"+n, "float32 (out"+n+"), optional"), num("out"+n, what), num("type"+n, type1)}
			}
			x := []Param{ptr("x", "float32 (rows, in)"), ptr("norm", "float32 (in), optional")}
			ks = append(ks,
				Kernel{Name: fmt.Sprintf("project_%s_%d", side, r), Module: "fused_" + side, Op: "RMSNorm, Linear, Add", Threads: fusedThreads(r), Uses: "Blocks, Rows", Grid: grid,
					Doc: "norm(x) · wᵀ + bias for up to three matrices, plus the residual for the first; y0 may be residual. Shared memory for Held bytes",
					Params: slices.Concat(three(0, ""), three(1, "0: none"), three(2, "0: none"), x,
						[]Param{ptr("residual", "float32 (rows, out0), optional"), num("in", "whole blocks"), num("rows", ""), float("eps", "of the norm")})},
				Kernel{Name: fmt.Sprintf("gated_%s_%d", side, r), Module: "fused_" + side, Op: "RMSNorm, Linear, Gate, Activate", Threads: fusedThreads(r), Uses: "Blocks, Rows", Grid: grid,
					Doc: "act(norm(x) · gateᵀ + bias) · (norm(x) · upᵀ + bias). Shared memory for Held bytes",
					Params: slices.Concat(
						[]Param{ptr("y", "float32 (rows, out)"), ptr("gate", "(out, in)"), ptr("gate_bias", "float32 (out), optional"), num("gate_type", type1),
							ptr("up", "(out, in), optional for act 1 and 2"), ptr("up_bias", "float32 (out), optional"), num("up_type", type1)}, x,
						[]Param{num("act", "as gate's"), num("out", ""), num("in", "whole blocks"), num("rows", ""), float("eps", "of the norm")})})
		}
	}
	ks = append(ks, slices.Concat(rotatedKernels(), expertKernels())...)
	for _, t := range CacheTypes {
		ks = append(ks, Kernel{Name: Name("heads", t), Module: "heads", Op: "RMSNorm, Rope, Attention", Threads: 256, Uses: "Heads = heads + 2 · kv_heads, Rows", Grid: perHead,
			Doc: "norms and rotates query heads to dst and key heads into the cache, and stores value heads there: rmsnorm by groups of head_dim, rope and kv_put",
			Params: []Param{ptr("dst", "float32 (rows, heads, head_dim)"), ptr("cache", t.String()+" (blocks, 2, kv_heads, block_size, head_dim): the layer"),
				ptr("q", "float32 (rows, heads, head_dim)"), ptr("k", "float32 (rows, kv_heads, head_dim)"), ptr("v", "float32 (rows, kv_heads, head_dim)"),
				ptr("q_norm", "float32 (head_dim), optional"), ptr("k_norm", "float32 (head_dim), optional"), ptr("cos", "float32 (table rows, pairs), optional"), ptr("sin", "float32 (table rows, pairs)"),
				ptr("at", "int32 (rows)"), ptr("slots", "int32 (rows), below 0: nothing is stored"), num("heads", "0: queries are left alone"), num("kv_heads", ""), num("head_dim", "≤ 256"), num("block_size", ""),
				num("pairs", "≤ head_dim/2"), num("interleaved", "0 or 1"), float("q_eps", ""), float("k_eps", "")}})
	}
	return ks
}

// expertKernels are a mixture of experts in two launches after experts_choose.
func expertKernels() []Kernel {
	var ks []Kernel
	for _, side := range []string{"blocks", "floats"} {
		grid := func(d Dims) [3]int { return [3]int{d.Blocks, d.Rows, 1} }
		const of = "place of the type in Types"
		ks = append(ks,
			Kernel{Name: "experts_gated_" + side, Module: "experts", Op: "Experts", Threads: fusedThreads(1), Uses: "Blocks, Rows", Grid: grid,
				Doc: "act(x · gateᵀ + bias) · (x · upᵀ + bias) of every slot by its expert: quantize, expert_gemv and gate. Shared memory for ExpertsHeld bytes",
				Params: []Param{ptr("y", "float32 (rows, used, out)"), ptr("gate", "(experts, out, in)"), ptr("gate_bias", "float32 (experts, out), optional"), num("gate_type", of),
					ptr("up", "(experts, out, in)"), ptr("up_bias", "float32 (experts, out), optional"), num("up_type", of),
					ptr("x", "float32 (rows, in)"), ptr("chosen", "int32 (rows, used)"), num("act", "as gate's"), num("used", "≤ MaxUsed"), num("out", ""), num("in", "whole blocks"), num("rows", "")}},
			Kernel{Name: "experts_down_" + side, Module: "experts", Op: "Experts", Threads: fusedThreads(1), Uses: "Blocks, Rows", Grid: grid,
				Doc: "Σ weight · (x · wᵀ + bias) over a row's slots: quantize, expert_gemv and experts_combine. Shared memory for ExpertsHeld bytes",
				Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("w", "(experts, out, in)"), ptr("bias", "float32 (experts, out), optional"), num("type", of),
					ptr("x", "float32 (rows, used, in)"), ptr("chosen", "int32 (rows, used)"), ptr("weight", "float32 (rows, used)"), num("used", "≤ MaxUsed"), num("room", "ExpertRoom"), num("out", ""), num("in", "whole blocks"), num("rows", "")}})
	}
	return ks
}

// CacheNumber is the number of a cache's type in rotated kernels.
func CacheNumber(t quant.Type) int { return slices.Index(CacheTypes, t) }

func rotatedKernels() []Kernel {
	var ks []Kernel
	for _, side := range []string{"blocks", "floats"} {
		for _, r := range GEMVRows {
			var three []Param
			for i, m := range []string{"q", "k", "v"} {
				n := strconv.Itoa(i)
				three = append(three, ptr("w"+n, m+" (out, in)"), ptr("b"+n, "float32 (out), optional"))
				if i == 0 {
					three = append(three, num("out0", "heads · head_dim"))
				}
				three = append(three, num("type"+n, "place of the type in Types"))
			}
			ks = append(ks, Kernel{Name: fmt.Sprintf("rotated_%s_%d", side, r), Module: "rotated_" + side, Op: "RMSNorm, Linear, Rope, Attention", Threads: fusedThreads(r), Uses: "Blocks, Rows",
				Grid: func(d Dims) [3]int { return [3]int{d.Blocks, ceil(d.Rows, r), 1} },
				Doc:  "query heads of norm(x), rotated, to y, and key heads, rotated, and value heads into the cache: project, rope and kv_put. Shared memory for Held bytes",
				Params: slices.Concat([]Param{ptr("y", "float32 (rows, out0)")}, three,
					[]Param{num("kv_out", "kv_heads · head_dim"), ptr("x", "float32 (rows, in)"), ptr("norm", "float32 (in), optional"), ptr("cos", "float32 (table rows, pairs)"), ptr("sin", "float32 (table rows, pairs)"),
						ptr("at", "int32 (rows)"), ptr("slots", "int32 (rows), below 0: nothing is stored"), ptr("cache", "(blocks, 2, kv_heads, block_size, head_dim): the layer"),
						num("cache_type", "place of the type in CacheTypes, not Q8_0"), num("head_dim", "even"), num("block_size", ""), num("pairs", "≤ head_dim/2"), num("interleaved", "0 or 1"),
						num("in", "whole blocks"), num("rows", ""), float("eps", "of the norm")})})
		}
	}
	return ks
}
