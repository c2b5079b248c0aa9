package main

// outputs is every file the generator writes, under kernels, without suffix.
var outputs = []struct {
	path, pkg string
	gen       func(*file)
}{
	{"quant/dot_amd64", "quant", genDots},
	{"quant/panel_amd64", "quant", genPanels},
	{"quant/panel_amx_amd64", "quant", genAMXPanels},
	{"quant/split_amx_amd64", "quant", genSplit},
	{"quant/act_amd64", "quant", genActs},
	{"pause_amd64", "kernels", genPause},
	{"vec_amd64", "kernels", genVec},
	{"point_amd64", "kernels", genPoints},
	{"gemm_amd64", "kernels", genTiles},
	{"int8_amd64", "kernels", genInt8},
	{"int8_amx_amd64", "kernels", genInt8AMX},
	{"mask_amd64", "kernels", genMask},
	{"attend_amd64", "kernels", genAttend},
	{"mix_amd64", "kernels", genMix},
	{"quant/tile_amd64", "quant", genFloatTiles},
}
