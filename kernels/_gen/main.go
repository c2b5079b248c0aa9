// Command _gen writes the amd64 assembly of quern's kernels.
//
// Run it from this directory: go run . ; its output is checked in, and CI
// checks that it is current.
package main

import (
	"fmt"
	"os"
)

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
	a.function("pause", "n uint32", 4, "pause spins for n PAUSE instructions; n is at least 1.")
	a.use(
		"n", "CX", // turns left
	)
	a.f("MOVL n+0(FP), {n}")
	a.l("spin")
	a.f("PAUSE")
	a.f("DECL {n}")
	a.f("JNZ spin")
	a.f("RET")
}
