// Command _gen writes the amd64 assembly of quern's kernels.
//
// Run it from this directory: go run . ; its output is checked in, and CI
// checks that it is current.
//
// The files written are listed below. A function of this package that emits a whole
// kernel begins with a.function, which starts it, and a.use, which names its registers;
// instructions then read a.f("VPADDD {a}, {b}, {sum}"). Functions that emit a piece of a
// kernel say which named registers they read and write. An unknown name, or a register
// named twice, stops the generator.
package main

import (
	"fmt"
	"os"
)

// outputs is every file the generator writes, without suffix. It lies in the folder of its package, below kernels.
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
	{"quant/fit_amd64", genFit},
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

func main() {
	const root, tags = "..", "amd64 && !noasm"
	for _, o := range outputs {
		f := newFile(o.path, tags)
		o.gen(f)
		if err := f.write(root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// genPause writes a loop of PAUSE, for spinning.
func genPause(a *file) {
	a.function("pause", "n uint32", "pause spins for n PAUSE instructions; n is at least 1.")
	a.use(
		"n", "CX", // turns left
	)
	a.f("MOVL %s, {n}", a.arg("n"))
	a.l("spin")
	a.f("PAUSE")
	a.f("DECL {n}")
	a.f("JNZ spin")
	a.f("RET")
}
