package cuda

// ChangeWords is how many 32-bit words adapt_down and adapt_up read of each adapter: where A and
// B are, 0 for none, the rank, and the scale.
const ChangeWords = 6

var adapterKernels = []Kernel{
	{Name: "adapt_experts", Module: "adapters", Op: "AdaptedExperts", Threads: 256, Uses: "Rows = slots",
		Grid:   func(d Dims) [3]int { return [3]int{ceil(d.Rows, 256), 1, 1} },
		Doc:    "the changes of slots: of adapter a, from 1, and expert e (a-1)·experts + e, from 1",
		Params: []Param{ptr("of", "int32 (slots), 0: none"), ptr("adapters", "int32 (slots/used), from 1, 0: none"), ptr("chosen", "int32 (slots)"), num("experts", ""), num("used", ""), num("slots", "")}},
	{Name: "adapt_down", Module: "adapters", Op: "AdaptedLinear, AdaptedExperts", Threads: 256, Uses: "Out = room, Rows",
		Grid:   func(d Dims) [3]int { return [3]int{ceil(d.Out, 8), d.Rows, 1} },
		Doc:    "A·x of the rows that have an adapter; row r is of row r/per of x",
		Params: []Param{ptr("low", "float32 (rows, room), scratch"), ptr("x", "float32 (rows/per, in)"), ptr("changes", "32-bit words (adapters, ChangeWords)"), ptr("adapters", "int32 (rows), from 1, 0: none"), num("in", ""), num("room", "the highest rank"), num("per", "")}},
	{Name: "adapt_up", Module: "adapters", Op: "AdaptedLinear, AdaptedEmbed, AdaptedExperts", Threads: 256, Grid: perValue, Uses: "Out, Rows",
		Doc:    "adds scale·B·low to the rows that have an adapter; with ids low is row ids[r] of A",
		Params: []Param{ptr("dst", "float32 (rows, out)"), ptr("low", "float32 (rows, room), optional with ids"), ptr("changes", "32-bit words (adapters, ChangeWords)"), ptr("adapters", "int32 (rows), from 1, 0: none"), ptr("ids", "int32 (rows), optional"), num("out", ""), num("room", "the highest rank")}},
}
