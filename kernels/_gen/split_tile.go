package main

import "fmt"

// splitTile writes the product of a panel of one or two groups of rows with pairs of groups
// of columns, which are xGroup bytes apart; the configuration says how many rows and columns
// the groups have. Sums of a pair are four tiles, to which is added where more is set.
func splitTile(a *file, t string, pieces int) {
	fn := "tileSplit" + t
	a.function(fn, "panel *byte, steps int, x *byte, xGroup, pairs int, sums *byte, more int, config *byte",
		fmt.Sprintf("%s multiplies tiles of %s weights with tiles of activations.", fn, t))
	a.use(
		"config", "BX",
		"line0", "R11", // bytes of a row of tile 6
		"line1", "R12", // and of tile 7
		"lines", "R9", // 64, the same of weights and sums
		"x", "DI", // of this pair of column groups
		"pairs", "DX", // left
		"sums", "R10",
		"step0", "AX", // bytes of a step of the first group of columns
		"panel", "SI", // next step's weights
		"steps", "CX", // left
		"hi0", "R13", // next tiles of activations of the first group
		"lo0", "R15",
		"hi1", "R14", // and of the second
		"lo1", "R8",
	)
	a.reuse(
		"rows5", "BX", // of tile 5
		"step1", "BX", // bytes of a step of the second group of columns
	)
	a.load("config")
	a.ldtilecfg("{config}")
	a.f("MOVWQZX 28({config}), {line0}") // bytes of a row of tiles 6 and 7
	a.f("MOVWQZX 30({config}), {line1}")
	a.f("MOVL $64, {lines}")
	a.load("x", "pairs", "sums")
	a.f("MOVQ {line0}, {step0}")
	a.f("SHLQ $5, {step0}")
	a.f("MOVBQZX 53({config}), {rows5}") // rows of tile 5
	a.f("TESTQ {rows5}, {rows5}")
	a.f("JZ rows1")
	for _, rows := range []int{2, 1} {
		a.l(fmt.Sprintf("rows%d", rows))
		a.f("MOVQ {line1}, {step1}")
		a.f("SHLQ $5, {step1}")
		a.f("JZ pair%d1", rows)
		for _, columns := range []int{2, 1} {
			splitPair(a, rows, columns, pieces)
		}
	}
	a.l("done")
	a.tilerelease()
	a.f("RET")
}

// A splitSteps emits the pieces of a loop over steps for some groups of rows and
// columns: weights at {panel}; of column group c tiles of activations at {hi c} and
// {lo c}, with rows of {line c} bytes and {step c} bytes a step; sums at {sums}.
type splitSteps struct {
	a                     *file
	rows, columns, pieces int
}

// each calls do with every tile of sums and where it is stored.
func (s splitSteps) each(do func(tile, at int)) {
	for r := range s.rows {
		for c := range s.columns {
			do(2*r+c, 1024*(2*r+c))
		}
	}
}

// weights loads the tiles of a piece of the weights.
func (s splitSteps) weights(piece int) {
	for r := range s.rows {
		s.a.tileload(splitPiece(s.pieces, piece, r), "{panel}", "{lines}", 4+r)
	}
}

// splitColumn names, by column group, where the tiles of hi and lo are and the bytes of
// their rows and of a step.
var splitColumn = []struct {
	base          [2]string
	stride, bytes string
}{
	{[2]string{"{hi0}", "{lo0}"}, "{line0}", "{step0}"},
	{[2]string{"{hi1}", "{lo1}"}, "{line1}", "{step1}"},
}

// acts loads the tiles of a piece of the activations.
func (s splitSteps) acts(piece int) {
	for c, x := range splitColumn[:s.columns] {
		s.a.tileload(0, x.base[piece], x.stride, 6+c)
	}
}

// multiply adds the products of the loaded tiles.
func (s splitSteps) multiply() {
	s.each(func(tile, _ int) { s.a.tdpbf16ps(4+tile/2, 6+tile%2, tile) })
}

// step adds the products of one step and leaves {panel} and the activations at the next.
// Tile instructions stand together, which saves traps where AMX is emulated.
func (s splitSteps) step() {
	if s.pieces == 2 {
		s.weights(1)
		s.acts(0)
		s.multiply()
		s.weights(0)
	} else {
		s.weights(0)
		s.acts(0)
	}
	s.multiply()
	s.acts(1)
	s.multiply()
	s.a.f("ADDQ $%d, {panel}", splitPiece(s.pieces, s.pieces, 0))
	for _, x := range splitColumn[:s.columns] {
		s.a.f("ADDQ %s, %s", x.bytes, x.base[0])
		s.a.f("ADDQ %s, %s", x.bytes, x.base[1])
	}
}

// begin zeroes the sums, or loads them from {sums} where the argument more is set.
func (s splitSteps) begin(more, label string) {
	a := s.a
	a.f("CMPQ %s, $0", more)
	a.f("JNE more%s", label)
	s.each(func(tile, _ int) { a.tilezero(tile) })
	a.f("JMP step%s", label)
	a.l("more" + label)
	s.each(func(tile, at int) { a.tileload(at, "{sums}", "{lines}", tile) })
	a.l("step" + label)
}

// end stores the sums at {sums}.
func (s splitSteps) end() {
	s.each(func(tile, at int) { s.a.tilestore(tile, at, "{sums}", "{lines}") })
}

// splitPair multiplies pairs of column groups, as long as there are {pairs}.
func splitPair(a *file, rows, columns, pieces int) {
	s := splitSteps{a, rows, columns, pieces}
	label := fmt.Sprintf("%d%d", rows, columns)
	a.l("pair" + label)
	a.load("panel", "steps")
	a.f("MOVQ {x}, {hi0}")
	a.f("MOVQ {x}, {hi1}")
	a.f("MOVQ {line0}, {lo0}")
	a.f("SHLQ $4, {lo0}")
	a.f("ADDQ {hi0}, {lo0}")
	a.f("ADDQ %s, {hi1}", a.arg("xGroup"))
	a.f("MOVQ {line1}, {lo1}")
	a.f("SHLQ $4, {lo1}")
	a.f("ADDQ {hi1}, {lo1}")
	s.begin(a.arg("more"), label)
	s.step()
	a.f("DECQ {steps}")
	a.f("JNZ step%s", label)
	s.end()
	a.f("ADDQ $4096, {sums}")
	a.f("ADDQ %s, {x}", a.arg("xGroup"))
	a.f("ADDQ %s, {x}", a.arg("xGroup"))
	a.f("DECQ {pairs}")
	a.f("JNZ pair%s", label)
	a.f("JMP done")
}

// splitStream writes the product of a panel of two groups of rows with one group of columns
// that converts the next panel meanwhile: after each step quota rows of its tiles, so that
// vectors and memory work while tiles multiply. Then the panels swap, count times in all.
func splitStream(a *file, t string, pieces int) {
	fn := "streamSplit" + t
	a.function(fn, "panel *byte, steps int, x, sums *byte, more int, config, next, w *byte, rowBytes, rows, nextSteps, quota, count int, fetch uintptr",
		fmt.Sprintf("%s multiplies tiles of %s weights with tiles of activations and makes the next tiles of weights.", fn, t))
	a.use(
		"panel", "SI", // next step's weights
		"steps", "CX", // left
		"dst", "DI", // next row of the next panel's tiles
		"src", "BX", // next weights for it
		"hi0", "R13", // next tiles of activations
		"lo0", "R15",
		"line0", "R11", // bytes of a row of them
		"step0", "AX", // bytes of a step of them
		"lines", "R9", // 64, the same of weights and sums
		"fetch", "R10", // what the second-level cache is to have next
		"rowSteps", "R12", // steps left of a row to convert
		"nextRow", "R8", // from the end of a row to the next
		"nextLine", "R14", // from a row's last tile to the next row's first
		"toMake", "DX", // rows of tiles after this step
		"keep", "Z28", // 0xffff0000, what a bf16 has of a float32
		"half", "Z29", // 0x8000, half of the last place kept
	)
	a.reuse("sums", "R10", "config", "BX", "rowEnd", "DX")
	left := a.arg("more") // rows of tiles to make, in the place of more once the sums are loaded
	s := splitSteps{a, 2, 1, pieces}
	pitch := splitPiece(pieces, pieces, 0)
	a.load("config")
	a.ldtilecfg("{config}")
	a.f("MOVWQZX 28({config}), {line0}")
	a.f("MOVL $64, {lines}")
	a.load("sums")
	s.begin(left, "")
	a.load("x=hi0")
	a.f("MOVQ {line0}, {lo0}")
	a.f("SHLQ $4, {lo0}")
	a.f("ADDQ {hi0}, {lo0}")
	splitConsts(a, 28, 0xffff0000, 0x8000)
	a.f("MOVQ {line0}, {step0}")
	a.f("SHLQ $5, {step0}")
	a.load("fetch", "nextSteps=rowSteps")
	a.f("MOVQ {rowSteps}, {nextRow}") // from a row's end to the next
	a.f("SHLQ $6, {nextRow}")
	a.f("NEGQ {nextRow}")
	a.f("ADDQ %s, {nextRow}", a.arg("rowBytes"))
	a.f("IMUL3Q $%d, {rowSteps}, {nextLine}", -pitch)
	a.f("ADDQ $64, {nextLine}")
	a.l("panel")
	a.load("panel", "next=dst", "w=src", "steps")
	a.f("MOVQ %s, {rowSteps}", a.arg("nextSteps")) // left of a row
	a.f("MOVQ {rowSteps}, {toMake}")
	a.f("IMULQ %s, {toMake}", a.arg("rows"))
	a.f("MOVQ {toMake}, %s", left)
	a.l("round")
	s.step()
	a.load("quota=toMake")
	a.f("CMPQ {toMake}, %s", left)
	a.f("CMOVQGT %s, {toMake}", left)
	a.f("SUBQ {toMake}, %s", left)
	a.f("TESTQ {toMake}, {toMake}")
	a.f("JZ converted")
	a.l("line")
	a.f("PREFETCHT0 %d({src})", 2*splitShort)
	splitConvert(a, t, false)
	a.f("ADDQ $64, {src}")
	a.f("ADDQ $%d, {dst}", pitch)
	a.f("DECQ {rowSteps}")
	a.f("JNZ same")
	a.f("ADDQ {nextRow}, {src}")
	a.f("ADDQ {nextLine}, {dst}")
	a.load("nextSteps=rowSteps")
	a.l("same")
	a.f("DECQ {toMake}")
	a.f("JNZ line")
	a.l("converted")
	a.f("DECQ {steps}")
	a.f("JNZ round")
	a.f("MOVQ %s, {panel}", a.arg("panel")) // change places
	a.load("next=dst")
	a.f("MOVQ {dst}, %s", a.arg("panel"))
	a.f("MOVQ {panel}, %s", a.arg("next"))
	a.f("MOVQ {rowSteps}, {rowEnd}") // a row's steps again
	a.f("SHLQ $6, {rowEnd}")
	a.f("ADDQ {rowEnd}, %s", a.arg("w"))
	a.f("DECQ %s", a.arg("count"))
	a.f("JNZ panel")
	a.load("sums")
	s.end()
	a.tilerelease()
	finish(a)
}
