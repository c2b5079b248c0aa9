package main

// genRead writes the reader that bandwidth is measured with: four streams of cache lines,
// each fetched ahead, whose bytes are combined so that every line is used.
func genRead(a *file) {
	const streams, ahead = 4, 512
	a.returning("readAVX2", "p *byte, lines, stride int", "mix uint64",
		"readAVX2 reads lines of 64 bytes from p and from p + stride, p + 2·stride, p + 3·stride. lines is at least 1.")
	a.use(
		"p", "SI", // next line of stream 0
		"stride", "R8",
		"stride3", "R9", // three times that
		"lines", "CX", // left
	)
	a.useRow("mix", y, 0, streams)
	a.useRow("half", y, streams, streams)
	a.load("p", "lines", "stride")
	a.f("LEAQ ({stride})({stride}*2), {stride3}")
	for i := range streams {
		a.f("VPXOR {mix%d}, {mix%d}, {mix%d}", i, i, i)
		a.f("VPXOR {half%d}, {half%d}, {half%d}", i, i, i)
	}
	a.l("line")
	for i := range streams {
		a.f("PREFETCHT0 %s", upTo4(i, ahead, "p", "stride"))
		a.f("VPXOR %s, {mix%d}, {mix%d}", upTo4(i, 0, "p", "stride"), i, i)
		a.f("VPXOR %s, {half%d}, {half%d}", upTo4(i, 32, "p", "stride"), i, i)
	}
	a.f("ADDQ $64, {p}")
	a.f("DECQ {lines}")
	a.f("JNZ line")
	for i := range streams {
		a.f("VPXOR {half%d}, {mix%d}, {mix%d}", i, i, i)
		if i > 0 {
			a.f("VPXOR {mix%d}, {mix0}, {mix0}", i)
		}
	}
	a.f("VEXTRACTI128 $1, {mix0}, {half0.x}")
	a.f("VPXOR {half0.x}, {mix0.x}, {mix0.x}")
	a.f("VPSHUFD $0x4e, {mix0.x}, {half0.x}")
	a.f("VPXOR {half0.x}, {mix0.x}, {mix0.x}")
	a.f("VMOVQ {mix0.x}, AX")
	a.f("MOVQ AX, %s", a.arg("mix"))
	finish(a)
}
