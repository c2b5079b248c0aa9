package main

// outputs is every file the generator writes, under kernels, without suffix.
var outputs = []struct {
	path, pkg string
	gen       func(*file)
}{
	{"quant/dot_amd64", "quant", genDots},
	{"quant/panel_amd64", "quant", genPanels},
	{"pause_amd64", "kernels", genPause},
	{"vec_amd64", "kernels", genVec},
	{"point_amd64", "kernels", genPoints},
	{"gemm_amd64", "kernels", genTiles},
	{"quant/tile_amd64", "quant", genFloatTiles},
}
