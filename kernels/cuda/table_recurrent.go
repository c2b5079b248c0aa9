package cuda

import "strconv"

// MaxTaps is how many taps short_conv has registers for.
const MaxTaps = 8

// MaxWKVHead is the widest head that wkv7 has registers for.
const MaxWKVHead = 64

// tileRows is how many rows of a run a block takes of ops whose rows do not wait for each other.
const tileRows = 64

// Sizes of the states that scans have registers for: of mamba2 and mamba1 the numbers of a
// channel, of delta the width of a key.
var (
	mamba2Sizes = []int{32, 128, 256}
	mamba1Sizes = []int{16, 64}
	deltaSizes  = []int{32, 128, 256}
)

// fitting names the kernel of the smallest size that holds n, "" for none.
func fitting(stem string, sizes []int, n int) string {
	for _, size := range sizes {
		if n <= size {
			return stem + "_" + strconv.Itoa(size)
		}
	}
	return ""
}

// Mamba2Name returns the scan of Mamba-2 for states of n, "" where there is none.
func Mamba2Name(n int) string { return fitting("mamba2", mamba2Sizes, n) }

// Mamba1Name returns the scan of Mamba for states of n, "" where there is none.
func Mamba1Name(n int) string { return fitting("mamba1", mamba1Sizes, n) }

// DeltaName returns the delta net for keys of n, "" where there is none.
func DeltaName(n int) string { return fitting("delta", deltaSizes, n) }

// perTiles is a grid for runs in tiles of rows, of which the longest has Splits rows.
func perTiles(d Dims) [3]int {
	return [3]int{ceil(d.Out, 128), d.Rows, max(1, ceil(d.Splits, tileRows))}
}

// perColumns is a grid of blocks that take so many values of a head, for every run.
func perColumns(n int) func(Dims) [3]int {
	return func(d Dims) [3]int { return [3]int{d.Heads * ceil(d.Out, n), d.Rows, 1} }
}

// ofRuns are the parameters in the middle of every kernel here. A run is four numbers: its first
// row, the row behind its last, its slot of states, below 0 for none, and whether it begins
// with zeros. States begin at the op's place in slot 0.
func ofRuns(state string) []Param {
	return []Param{ptr("states", "float32 (slots, stride): "+state), ptr("runs", "int32 (runs, 4)")}
}

var stride = num("stride", "numbers of a slot")

// params puts lists of parameters together.
func params(lists ...[]Param) (all []Param) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// recurrentKernels are those of layers that carry a state from row to row.
func recurrentKernels() []Kernel {
	ks := []Kernel{{Name: "short_conv", Module: "recurrent", Op: "ShortConv", Threads: 128, Grid: perTiles, Uses: "Out = channels, Rows = runs, Splits = rows of the longest run",
		Doc: "a causal convolution of every channel by itself, then SiLU if act, as recurrent.ShortConv",
		Params: params([]Param{ptr("dst", "float32 (rows, channels)"), ptr("x", "float32 (rows, channels)"), ptr("w", "float32 (channels, taps)"), ptr("bias", "float32 (channels), optional")},
			ofRuns("(taps - 1, channels)"), []Param{num("channels", ""), num("taps", "2 to MaxTaps"), num("act", "0 or 1"), stride})}}
	for _, n := range mamba2Sizes {
		ks = append(ks, Kernel{Name: Mamba2Name(n), Module: "recurrent", Op: "Mamba2", Threads: 128, Grid: perColumns(16), Uses: "Heads, Out = values of a head, Rows = runs",
			Doc: "the scan of Mamba-2, as recurrent.SSD row after row, for states of at most " + strconv.Itoa(n),
			Params: params([]Param{ptr("y", "float32 (rows, heads, head)"), ptr("xbc", "float32 (rows, heads·head + 2·groups·n)"), ptr("dt", "float32 (rows, heads)"), ptr("a", "float32 (heads)"), ptr("d", "float32 (heads)"), ptr("dt_bias", "float32 (heads)")},
				ofRuns("(heads, head, n)"), []Param{num("heads", ""), num("head", ""), num("groups", "divides heads"), num("n", ""), stride})})
	}
	for _, n := range mamba1Sizes {
		ks = append(ks, Kernel{Name: Mamba1Name(n), Module: "recurrent", Op: "Mamba1", Threads: 128, Grid: perColumns(16), Uses: "Heads = 1, Out = width, Rows = runs",
			Doc: "the scan of Mamba, as recurrent.Selective row after row, for states of at most " + strconv.Itoa(n),
			Params: params([]Param{ptr("y", "float32 (rows, width)"), ptr("x", "float32 (rows, width)"), ptr("dt", "float32 (rows, width)"), ptr("b", "float32 (rows, n)"), ptr("c", "float32 (rows, n)"), ptr("a", "float32 (width, n)"), ptr("d", "float32 (width)")},
				ofRuns("(width, n)"), []Param{num("width", ""), num("n", ""), stride})})
	}
	for _, n := range deltaSizes {
		ks = append(ks, Kernel{Name: DeltaName(n), Module: "recurrent", Op: "DeltaNet", Threads: 128, Grid: perColumns(32), Uses: "Heads, Out = value, Rows = runs",
			Doc: "a gated delta net, as recurrent.Delta row after row, for keys of at most " + strconv.Itoa(n) + ". Head h has key head h%key_heads if tiled, else h/(heads/key_heads)",
			Params: params([]Param{ptr("o", "float32 (rows, heads, value)"), ptr("qkv", "float32 (rows, 2·key_heads·key + heads·value)"), ptr("beta", "float32 (rows, heads)"), ptr("alpha", "float32 (rows, heads)"), ptr("a", "float32 (heads)"), ptr("dt_bias", "float32 (heads)")},
				ofRuns("(heads, key, value)"), []Param{num("heads", ""), num("key_heads", "divides heads"), num("key", ""), num("value", ""), num("tiled", "0 or 1"), stride})})
	}
	return append(ks,
		Kernel{Name: "token_shift", Module: "rwkv", Op: "TokenShift", Threads: 128, Grid: perTiles, Uses: "Out = width, Rows = runs, Splits = rows of the longest run",
			Doc: "each row mixed with the one before it in n ways, as recurrent.TokenShift",
			Params: params([]Param{ptr("dst", "float32 (rows, n, width)"), ptr("x", "float32 (rows, width)"), ptr("mix", "float32 (n, width)")},
				ofRuns("(width)"), []Param{num("width", ""), num("n", ""), stride})},
		Kernel{Name: "wkv7", Module: "rwkv", Op: "WKV7", Threads: 256, Grid: perColumns(1), Uses: "Heads, Out = 1, Rows = runs",
			Doc: "the memory of RWKV-7, as recurrent.RWKV row after row",
			Params: params([]Param{ptr("o", "float32 (rows, width)"), ptr("r", "float32 (rows, width)"), ptr("w", "float32 (rows, width)"), ptr("k", "float32 (rows, width)"), ptr("v", "float32 (rows, width)"), ptr("a", "float32 (rows, width)"),
				ptr("key", "float32 (width)"), ptr("rate", "float32 (width)"), ptr("bonus", "float32 (width)"), ptr("norm", "float32 (width)"), ptr("shift", "float32 (width)")},
				ofRuns("(heads, head, head)"), []Param{num("width", ""), num("head", "≤ MaxWKVHead"), float("eps", ""), stride})})
}
