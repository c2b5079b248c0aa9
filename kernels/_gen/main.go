// Command _gen writes the amd64 assembly of quern's kernels.
//
// Run it from this directory: go run . ; its output is checked in, and CI
// checks that it is current.
//
// tables.go lists the files written. A function of this package that emits a whole
// kernel begins with a.function, which starts it, and a.use, which names its registers;
// instructions then read a.f("VPADDD {a}, {b}, {sum}"). Functions that emit a piece of a
// kernel say which named registers they read and write. An unknown name, or a register
// named twice, stops the generator.
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
