package main

// outputs is every file the generator writes, without suffix. It lies in the
// folder of its package, below kernels.
var outputs = []struct {
	path string
	gen  func(*file)
}{
	{"dot/dot_amd64", genDots},
	{"dot/panel_amd64", genPanels},
	{"dot/interleaved_amd64", genInterleaved},
	{"dot/interleaved_panel_amd64", genInterleavedPanels},
	{"dot/panel_amx_amd64", genAMXPanels},
	{"dot/split_amx_amd64", genSplit},
	{"dot/rounded_bf16_amd64", genRounded},
	{"quant/act_amd64", genActs},
	{"bandwidth/read_amd64", genRead},
	{"threads/pause_amd64", genPause},
	{"vec/vec_amd64", genVec},
	{"vec/point_amd64", genPoints},
	{"gemm/gemm_amd64", genTiles},
	{"gemm/int8_amd64", genInt8},
	{"gemm/int8_amx_amd64", genInt8AMX},
	{"vec/mask_amd64", genMask},
	{"recurrent/scan_amd64", genScans},
	{"attention/attend_amd64", genAttend},
	{"conv/fourier_amd64", genFourier},
	{"dot/tile_amd64", genFloatTiles},
}
