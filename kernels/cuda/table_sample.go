package cuda

// MaxTop is how many of a row's largest logits top gives, topSlice how many logits
// a block of top_part sorts.
const (
	MaxTop   = 256
	topSlice = 2048
)

// TopSlices returns into how many slices top_part cuts rows of n logits.
func TopSlices(n int) int { return ceil(n, topSlice) }

const order = ": the larger first, of equals the lower number, NaN before all"

var sampleKernels = []Kernel{
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
