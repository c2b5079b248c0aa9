package main

import (
	"fmt"
	"math"
	"math/bits"
)

// fourierSizes are how many points the tiles of fast convolutions have.
var fourierSizes = []int{8, 16, 32}

// genFourier writes the transforms of fast convolution: split and join of
// kernels/conv/fourier.go, which has the same loops, over columns of rows.
func genFourier(a *file) {
	for _, v := range vecs {
		for _, n := range fourierSizes {
			genRowsSplit(a, v, n)
			genRowsJoin(a, v, n)
		}
	}
}

// reversed is the place of row i in the slots of a transform of n points.
func reversed(i, n int) int {
	return int(bits.Reverse32(uint32(i)) >> (32 - bits.Len(uint(n-1))))
}

// genRowsSplit writes the transform of n rows.
func genRowsSplit(a *file, v vec, n int) {
	fn := fmt.Sprintf("split%d%s", n, v.level)
	a.function(fn, "dst *float32, to *int, src *float32, from *int, scratch *float32, columns int",
		fmt.Sprintf("%s is split of %d rows. columns is a multiple of the vector; scratch has room for %d vectors.", fn, n, 2*n))
	a.use("dst", "DI", "to", "DX", "src", "SI", "from", "R8", "scratch", "R9", "columns", "CX")
	a.load("dst", "to", "src", "from", "scratch", "columns")
	s := &straight{v: v, table: fmt.Sprintf("split%d", n)}
	x := make([]value, n)
	for i := range n {
		x[reversed(i, n)] = s.load(fmt.Sprintf("MOVQ %d({from}), AX", 8*i), "({src})(AX*4)")
	}
	s.split(x)
	store := func(plane int, y value) { s.store(y, fmt.Sprintf("MOVQ %d({to}), AX", 8*plane), "({dst})(AX*4)") }
	store(0, x[0])
	store(1, x[n/2])
	for b := 1; b < n/2; b++ {
		store(3*b-1, x[b])
		store(3*b, x[n-b])
		store(3*b+1, s.add(x[b], x[n-b]))
	}
	a.l("columns")
	if used := s.emit(a, registers(v), "{scratch}", 0); used > 2*n {
		panic(fmt.Sprintf("%s keeps %d vectors", fn, used))
	}
	for _, r := range []string{"{dst}", "{src}"} {
		a.f("ADDQ $%d, %s", 4*v.lanes, r)
	}
	a.f("SUBQ $%d, {columns}", v.lanes)
	a.f("JNZ columns")
	finish(a)
}

// genRowsJoin writes the inverse, of which the first rows are wanted.
func genRowsJoin(a *file, v vec, n int) {
	fn := fmt.Sprintf("join%d%s", n, v.level)
	a.function(fn, "dst *float32, dstStride int, init *float32, initStride int, src *float32, from *int, scratch *float32, rows, columns int",
		fmt.Sprintf("%s is join of %d planes. columns is a multiple of the vector, rows at least 1; scratch has room for %d vectors.", fn, n, 2*n))
	a.use(
		"dst", "DI", "dstStride", "R8", // in bytes
		"init", "R9", "initStride", "R10",
		"src", "SI", "from", "R11", "scratch", "R12", "rows", "R13", "columns", "CX",
		"row", "BX", "left", "DX",
	)
	a.load("dst", "dstStride", "init", "initStride", "src", "from", "scratch", "rows", "columns")
	a.f("SHLQ $2, {dstStride}")
	a.f("SHLQ $2, {initStride}")
	s := &straight{v: v, table: fmt.Sprintf("join%d", n)}
	x := make([]value, n)
	load := func(plane int) value { return s.load(fmt.Sprintf("MOVQ %d({from}), AX", 8*plane), "({src})(AX*4)") }
	x[0], x[n/2] = load(0), load(1)
	for b := 1; b < n/2; b++ {
		x[b], x[n-b] = load(2*b), load(2*b+1)
	}
	s.join(x)
	for i := range n {
		s.store(x[reversed(i, n)], "", mem(4*v.lanes*i, "{scratch}"))
	}
	a.l("columns")
	if used := s.emit(a, registers(v), "{scratch}", n); used > 2*n {
		panic(fmt.Sprintf("%s keeps %d vectors", fn, used))
	}
	a.f("MOVQ {dst}, AX")
	a.f("MOVQ {init}, {row}")
	a.f("MOVQ {rows}, {left}")
	a.l("rows")
	a.f("VMOVUPS ({scratch}), %s", v.reg(0))
	a.f("VADDPS ({row}), %s, %s", v.reg(0), v.reg(0))
	a.f("VMOVUPS %s, (AX)", v.reg(0))
	a.f("ADDQ $%d, {scratch}", 4*v.lanes)
	a.f("ADDQ {initStride}, {row}")
	a.f("ADDQ {dstStride}, AX")
	a.f("DECQ {left}")
	a.f("JNZ rows")
	a.f("MOVQ %s, {scratch}", a.arg("scratch"))
	for _, r := range []string{"{dst}", "{init}", "{src}"} {
		a.f("ADDQ $%d, %s", 4*v.lanes, r)
	}
	a.f("SUBQ $%d, {columns}", v.lanes)
	a.f("JNZ columns")
	finish(a)
}

// registers is how many vector registers a level has.
func registers(v vec) int { return 2 * v.lanes }

// split transforms the slots of x in place, half by half.
func (s *straight) split(x []value) {
	n := len(x)
	if n == 1 {
		return
	}
	m := n / 2
	s.split(x[:m])
	s.split(x[m:])
	x[0], x[m] = s.add(x[0], x[m]), s.sub(x[0], x[m])
	for b := 1; b < m/2; b++ {
		sin, cos := math.Sincos(2 * math.Pi * float64(b) / float64(n))
		er, ei, or, oi := x[b], x[m-b], x[m+b], x[n-b]
		u, v := s.fma(or, sin/cos, oi), s.fma(oi, -sin/cos, or)
		x[b], x[m-b] = s.fma(er, cos, u), s.fma(er, -cos, u)
		x[n-b], x[m+b] = s.fma(ei, cos, v), s.fma(value{ei.n, !ei.neg}, cos, v)
	}
	if m > 1 {
		x[m+m/2].neg = !x[m+m/2].neg
	}
}

// join is the transpose of split.
func (s *straight) join(x []value) {
	n := len(x)
	if n == 1 {
		return
	}
	m := n / 2
	x[0], x[m] = s.add(x[0], x[m]), s.sub(x[0], x[m])
	for b := 1; b < m/2; b++ {
		sin, cos := math.Sincos(2 * math.Pi * float64(b) / float64(n))
		p, q := s.sub(x[b], x[m-b]), s.add(x[n-b], x[m+b])
		x[b], x[m-b] = s.add(x[b], x[m-b]), s.sub(x[n-b], x[m+b])
		x[m+b], x[n-b] = s.fma(s.mul(cos, p), -sin, q), s.fma(s.mul(cos, q), sin, p)
	}
	if m > 1 {
		x[m+m/2].neg = !x[m+m/2].neg
	}
	s.join(x[:m])
	s.join(x[m:])
}
