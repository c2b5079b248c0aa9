package cuda

// The widest keys that latent_attend_T has registers for, and of these the widest values.
const (
	MaxLatent       = 576
	MaxLatentValues = 512
)

// LatentHeads is how many heads a block of latent_attend_T has.
const LatentHeads = 8

// latentKernels are the kernels of attention whose heads share a key that begins with its
// value.
func latentKernels() []Kernel {
	var ks []Kernel
	for _, t := range CacheTypes {
		cache := ptr("cache", t.String()+" (blocks, block_size, head_dim): the layer")
		ks = append(ks,
			Kernel{Name: Name("latent_put", t), Module: "latents", Op: "LatentAttention", Threads: 256, Grid: perValue, Uses: "Out = head_dim, Rows",
				Doc:    "stores keys at their slots, which are block · block_size + place; head_dim is whole blocks",
				Params: []Param{cache, ptr("k", "float32 (rows, head_dim)"), ptr("slots", "int32 (rows), below 0: nothing is stored"), num("head_dim", "")}},
			Kernel{Name: Name("latent_attend", t), Module: "latents", Op: "LatentAttention", Threads: 32 * LatentHeads, Uses: "Heads, Rows, Splits",
				Grid: func(d Dims) [3]int { return [3]int{ceil(d.Heads, LatentHeads), d.Rows, d.Splits} },
				Doc:  "each head's softmax over tokens up to end of its row's sequence, cut into grid.z parts; attend_combine finishes, with values for head_dim",
				Params: []Param{ptr("part", "float32 (rows, heads, splits, values + 2), scratch"), ptr("q", "float32 (rows, heads, head_dim)"), cache,
					ptr("tables", "int32 (sequences, table_len): block numbers"), ptr("seq", "int32 (rows): row of tables"), ptr("ends", "int32 (rows): tokens up to end are seen; 0 for a row of padding"),
					num("table_len", ""), num("heads", ""), num("head_dim", "≤ MaxLatent"), num("values", "≤ MaxLatentValues"), num("block_size", ""), float("scale", "of the scores")}})
	}
	return ks
}
