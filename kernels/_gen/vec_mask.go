package main

// genMask writes the first pass of a softmax over masked scores: x·by + bias, and the largest.
func genMask(a *file) {
	a.returning("maskMaxAVX512", "x, bias *float32, n int, by float32", "top float32",
		"maskMaxAVX512 replaces x by x · by + bias and returns the largest, -Inf at least. n is a multiple of 16.")
	a.use(
		"x", "DI", // next scores
		"bias", "SI",
		"n", "CX", // left
		"by", "Z0", "top", "Z1", "score", "Z2",
	)
	a.load("x", "bias", "n")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	a.f("MOVL $0xff800000, AX")
	a.f("VPBROADCASTD AX, {top}")
	a.l("loop")
	a.f("VMULPS ({x}), {by}, {score}")
	a.f("VADDPS ({bias}), {score}, {score}")
	a.f("VMOVUPS {score}, ({x})")
	a.f("VMAXPS {top}, {score}, {top}") // NaN is ignored
	a.f("ADDQ $64, {x}")
	a.f("ADDQ $64, {bias}")
	a.f("SUBQ $16, {n}")
	a.f("JNZ loop")
	a.f("VEXTRACTF64X4 $1, {top}, {score.y}")
	a.f("VMAXPS {score.y}, {top.y}, {top.y}")
	a.f("VEXTRACTF128 $1, {top.y}, {score.x}")
	a.f("VMAXPS {score.x}, {top.x}, {top.x}")
	a.f("VPSHUFD $0x4e, {top.x}, {score.x}")
	a.f("VMAXPS {score.x}, {top.x}, {top.x}")
	a.f("VPSHUFD $0xb1, {top.x}, {score.x}")
	a.f("VMAXPS {score.x}, {top.x}, {top.x}")
	a.f("VMOVSS {top.x}, %s", a.arg("top"))
	finish(a)
}
