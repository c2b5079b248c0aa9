package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/asmfmt"
)

// A file collects the text of one generated assembly file. Instructions are
// written as Go's assembler writes them, destination last, with registers by name
// in braces (see regs). AX is scratch throughout and keeps its own name.
type file struct {
	path   string
	tags   string
	data   bytes.Buffer
	text   bytes.Buffer
	stubs  bytes.Buffer
	consts map[string]bool
	regs   map[string]string // of the current function: name to register
	args   map[string]string // and name of a parameter to its operand
	label  int
	locals int // bytes of the next function's frame, at (SP)
}

// newFile returns an empty file, to be built where tags hold.
func newFile(path, tags string) *file {
	return &file{path: path, tags: tags, consts: map[string]bool{}}
}

// f emits one instruction. {low} is the register named low; {low.x}, {low.y} and
// {low.z} are its low 128 or 256 bits and all of it.
func (a *file) f(format string, args ...any) {
	a.text.WriteString(a.named(fmt.Sprintf("\t"+format+"\n", args...)))
}

// among emits what step does, with more(0) to more(n-1), an instruction each, spread evenly among its
// lines.
func (a *file) among(step func(), n int, more func(i int)) {
	from := a.text.Len()
	step()
	lines := strings.SplitAfter(strings.TrimSuffix(a.text.String()[from:], "\n"), "\n")
	a.text.Truncate(from)
	done := 0
	for i, line := range lines {
		for ; done*len(lines) <= i*n && done < n; done++ {
			more(done)
		}
		a.text.WriteString(line)
	}
	a.text.WriteString("\n")
	for ; done < n; done++ {
		more(done)
	}
}

// l emits a label.
func (a *file) l(name string) { fmt.Fprintf(&a.text, "%s:\n", name) }

// fresh returns a label that no other call returns.
func (a *file) fresh(stem string) string {
	a.label++
	return fmt.Sprintf("%s%d", stem, a.label)
}

// function starts a function. doc goes above its code.
func (a *file) function(name, params, doc string) { a.returning(name, params, "", doc) }

// returning is function with a named result.
func (a *file) returning(name, params, result, doc string) {
	signature := name + "(" + params + ")"
	a.regs, a.args = map[string]string{}, map[string]string{}
	size := a.frame(0, params)
	if result != "" {
		signature += " (" + result + ")"
		size = a.frame((size+7)&^7, result)
	}
	fmt.Fprintf(&a.text, "\n// %s\n//\n// func %s\nTEXT ·%s(SB), NOSPLIT, $%d-%d\n", doc, signature, name, a.locals, size)
	a.locals = 0
	fmt.Fprintf(&a.stubs, "\n//go:noescape\nfunc %s\n", signature)
}

// frame notes where the parameters of a list lie, from offset at on, and returns their end.
func (a *file) frame(at int, list string) int {
	var names []string
	for param := range strings.SplitSeq(list, ", ") {
		name, typ, last := strings.Cut(param, " ")
		if names = append(names, name); !last {
			continue // of the next one's type
		}
		size := 8
		if strings.HasSuffix(typ, "32") && typ[0] != '*' {
			size = 4
		}
		for _, name := range names {
			at = (at + size - 1) &^ (size - 1)
			a.args[name] = fmt.Sprintf("%s+%d(FP)", name, at)
			at += size
		}
		names = nil
	}
	return at
}

// arg is the operand of a parameter or the result.
func (a *file) arg(name string) string {
	if a.args[name] == "" {
		panic("no parameter " + name)
	}
	return a.args[name]
}

// load moves 64-bit parameters to the registers of their names, or, of "param=low", to
// that named low.
func (a *file) load(params ...string) {
	for _, p := range params {
		name, low, other := strings.Cut(p, "=")
		if !other {
			low = name
		}
		a.f("MOVQ %s, {%s}", a.arg(name), low)
	}
}

// byFours loops until {left} is zero and ends at the label done, which the caller puts next.
// step(i) does the step that is i further, forward(n) moves the pointers n steps.
func byFours(a *file, step, forward func(int), done string) {
	const unroll = 4
	a.f("SUBQ $%d, {left}", unroll)
	a.f("JLT rest")
	a.l("fours")
	for i := range unroll {
		step(i)
	}
	forward(unroll)
	a.f("SUBQ $%d, {left}", unroll)
	a.f("JGE fours")
	a.l("rest")
	a.f("ADDQ $%d, {left}", unroll)
	a.f("JZ %s", done)
	a.l("one")
	step(0)
	forward(1)
	a.f("DECQ {left}")
	a.f("JNZ one")
}

// everyByte puts b to every byte of a vector.
func (a *file) everyByte(b byte, name string) {
	a.f("MOVQ $0x%016x, AX", 0x0101010101010101*uint64(b))
	a.f("VPBROADCASTQ AX, {%s}", name)
}

// everyByteAVX2 is everyByte for AVX2.
func (a *file) everyByteAVX2(b byte, name string) {
	a.f("MOVQ $0x%016x, AX", 0x0101010101010101*uint64(b))
	a.f("VMOVQ AX, {%s.x}", name)
	a.f("VPBROADCASTQ {%s.x}, {%[1]s}", name)
}

// finish ends a function that used vectors.
func finish(a *file) {
	a.f("VZEROUPPER")
	a.f("RET")
}

// bytes declares read-only data once and returns its operand.
func (a *file) bytes(name string, b []byte) string {
	if !a.consts[name] {
		a.consts[name] = true
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		for i := 0; i < len(b); i += 8 {
			fmt.Fprintf(&a.data, "DATA %s<>+%d(SB)/8, $0x%016x\n", name, i, binary.LittleEndian.Uint64(b[i:]))
		}
		fmt.Fprintf(&a.data, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n\n", name, len(b))
	}
	return name + "<>"
}

// bytesOf is n bytes.
func bytesOf(n int, f func(i int) byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = f(i)
	}
	return b
}

// words is n little-endian words.
func words(n int, f func(i int) uint16) []byte {
	b := make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(b[2*i:], f(i))
	}
	return b
}

// dwords is n little-endian dwords.
func dwords(n int, f func(i int) uint32) []byte {
	b := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(b[4*i:], f(i))
	}
	return b
}

// mem is disp(base).
func mem(disp int, base string) string { return fmt.Sprintf("%d(%s)", disp, base) }

// sym is an offset into data declared with bytes.
func sym(name string, off int) string { return fmt.Sprintf("%s+%d(SB)", name, off) }

// upTo4, upTo6 and upTo8 address disp bytes into one of several rows that lie {stride}
// bytes apart, by registers named after the first and the stride: {base} is row 0,
// {base3} row 3, {base4} row 4, {stride3} three strides.
func upTo4(row, disp int, base, stride string) string {
	switch row {
	case 0:
		return fmt.Sprintf("%d({%s})", disp, base)
	case 3:
		return fmt.Sprintf("%d({%s})({%s3}*1)", disp, base, stride)
	}
	return fmt.Sprintf("%d({%s})({%s}*%d)", disp, base, stride, row)
}

func upTo6(row, disp int, base, stride string) string {
	if row >= 3 {
		base, row = base+"3", row-3
	}
	return upTo4(row, disp, base, stride)
}

// sixRows loads {xStride} and makes the {x3} that upTo6 reaches row 3 and those after it by.
func sixRows(a *file, rows int) {
	if rows > 1 {
		a.load("xStride")
	}
	thirdRow(a, rows)
}

func thirdRow(a *file, rows int) {
	if rows > 3 {
		a.f("LEAQ ({x})({xStride}*2), {x3}")
		a.f("ADDQ {xStride}, {x3}")
	}
}

// moveRows moves them on by what is added.
func moveRows(a *file, rows int, by string) {
	a.f("ADDQ %s, {x}", by)
	if rows > 3 {
		a.f("ADDQ %s, {x3}", by)
	}
}

func upTo8(row, disp int, base, stride string) string {
	if row >= 4 {
		base, row = base+"4", row-4
	}
	return upTo4(row, disp, base, stride)
}

// x, y and z name vector register n by its width: 128, 256 or 512 bits.
func x(n int) string { return fmt.Sprintf("X%d", n) }
func y(n int) string { return fmt.Sprintf("Y%d", n) }
func z(n int) string { return fmt.Sprintf("Z%d", n) }

const generated = "// Code generated by kernels/_gen. DO NOT EDIT."

// write writes the assembly, formatted, and the Go file of its declarations.
func (a *file) write(root string) error {
	base := filepath.Join(root, a.path)
	head := generated + "\n\n//go:build " + a.tags + "\n\n"
	s := head + "#include \"textflag.h\"\n\n" + a.data.String() + strings.TrimPrefix(a.text.String(), "\n")
	text, err := asmfmt.Format(strings.NewReader(s))
	if err != nil {
		return err
	}
	if err := os.WriteFile(base+".s", text, 0o644); err != nil {
		return err
	}
	g := head + "package " + path.Dir(a.path) + "\n\n// What each function does stands above its code, in the .s file.\n" + a.stubs.String()
	return os.WriteFile(base+".go", []byte(g), 0o644)
}
