package ptxvm

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// A call is an instruction being decoded: "ld.global.v4.f32" has the modifiers
// global, v4 and f32, of which the last is its type.
type call struct {
	mods []string
	of   numType
	args []operand
	in   *inst

	kernel *Kernel
}

type run = func(w *warp, m uint32)

// An opcode says how instructions of one name are read.
type opcode struct {
	mods string // modifiers it may have beside its type
	args int    // operands it must have, or anyArgs
	make func(c *call) (run, error)
}

// anyArgs: what makes the instruction looks at the operands.
const anyArgs = -1

// errMeaning is for combinations of known modifiers that have no code.
var errMeaning = fmt.Errorf("%w: instruction", ErrUnsupported)

// decode reads an instruction; text has no guard.
func (p *parser) decode(in *inst, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	// A name may go on behind the first dot: "cp.async.cg".
	name := word
	op, ok := opcodes[name]
	for !ok {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return fmt.Errorf("%w: instruction %q", ErrUnsupported, word)
		}
		name = name[:dot]
		op, ok = opcodes[name]
	}
	c := &call{in: in, kernel: p.kernel}
	if len(name) < len(word) {
		c.mods = strings.Split(word[len(name)+1:], ".")
	}
	for i, mod := range c.mods {
		t, isType := numTypes[mod]
		if isType {
			c.of = t
		}
		if !isType && !listed(op.mods, mod) || isType && i < len(c.mods)-2 && name != "mma" && name != "wgmma.mma_async" {
			return fmt.Errorf("%w: %q of instruction %q", ErrUnsupported, mod, word)
		}
	}
	for _, part := range split(rest) {
		for _, one := range strings.Split(part, "|") {
			o, err := p.operand(one)
			if err != nil {
				return err
			}
			c.args = append(c.args, o)
		}
	}
	if len(c.args) != op.args && op.args != anyArgs {
		return fmt.Errorf("%w: %d operands where %q has %d", ErrFormat, len(c.args), word, op.args)
	}
	if name == "bra" {
		if !c.args[0].label {
			return fmt.Errorf("%w: branch to %q", ErrFormat, rest)
		}
		p.jumps[len(p.kernel.code)] = c.args[0].name
		in.flow = jump
		return nil
	}
	if err := c.check(name); err != nil {
		return err
	}
	var err error
	in.run, err = op.make(c)
	return err
}

// listed reports whether a word is in a list with spaces between.
func listed(list, word string) bool {
	for one := range strings.FieldsSeq(list) {
		if one == word {
			return true
		}
	}
	return false
}

// addresses are the operands that are addresses; vectors are the instructions
// that have operands of several registers; silent ones write none.
var (
	addresses = map[string][]int{"ld": {1}, "st": {0}, "ldmatrix": {1}, "cp.async.cg": {0, 1}, "cp.async.ca": {0, 1}, "atom": {1}}
	vectors   = map[string]bool{"mov": true, "ld": true, "st": true, "mma": true, "ldmatrix": true, "wgmma.mma_async": true}
	silent    = map[string]bool{"st": true, "bar": true, "cp.async.cg": true, "cp.async.ca": true, "cp.async.wait_group": true, "wgmma.wait_group": true}
)

// check holds operands against where they may stand: vectors and addresses
// belong to loads, stores and moves, and what is written is a register.
func (c *call) check(name string) error {
	if !c.fits(name) {
		return fmt.Errorf("%w: operands of %q", ErrFormat, name)
	}
	return nil
}

func (c *call) fits(name string) bool {
	for i, o := range c.args {
		if o.label || o.mem != slices.Contains(addresses[name], i) || o.vec != nil && !vectors[name] {
			return false
		}
		for _, e := range o.vec {
			if e.mem || e.vec != nil || e.label || i == 0 && e.value != nil {
				return false
			}
		}
	}
	if len(c.args) > 0 && !silent[name] && c.args[0].value != nil {
		return false
	}
	return true
}

// has reports whether the instruction has a modifier.
func (c *call) has(mod string) bool { return slices.Contains(c.mods, mod) }

// map1, map2 and map3 make the instructions that work lane by lane.

func map1(d, a operand, f func(a uint64) uint64) run {
	return func(w *warp, m uint32) {
		x := w.in(a, m)
		r := w.out(d, m)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			r[l] = f(x[l])
		}
	}
}

func map2(c *call, f func(a, b uint64) uint64) run {
	d, a, b := c.args[0], c.args[1], c.args[2]
	return func(w *warp, m uint32) {
		x, y := w.in(a, m), w.in(b, m)
		r := w.out(d, m)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			r[l] = f(x[l], y[l])
		}
	}
}

func map3(c *call, f func(a, b, c uint64) uint64) run {
	d, a, b, e := c.args[0], c.args[1], c.args[2], c.args[3]
	return func(w *warp, m uint32) {
		x, y, z := w.in(a, m), w.in(b, m), w.in(e, m)
		r := w.out(d, m)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			r[l] = f(x[l], y[l], z[l])
		}
	}
}
