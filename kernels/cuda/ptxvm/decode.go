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
}

type run = func(w *warp, m uint32)

// An opcode says how instructions of one name are read.
type opcode struct {
	mods string // modifiers it may have beside its type
	args int    // operands it must have
	make func(c *call) (run, error)
}

// errMeaning is for combinations of known modifiers that have no code.
var errMeaning = fmt.Errorf("%w: instruction", ErrUnsupported)

// decode reads an instruction; text has no guard.
func (p *parser) decode(in *inst, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	mods := strings.Split(word, ".")
	op, ok := opcodes[mods[0]]
	if !ok {
		return fmt.Errorf("%w: instruction %q", ErrUnsupported, word)
	}
	c := &call{mods: mods[1:], in: in}
	for i, mod := range c.mods {
		t, isType := numTypes[mod]
		if isType {
			c.of = t
		}
		if !isType && !slices.Contains(strings.Fields(op.mods), mod) || isType && i < len(c.mods)-2 && mods[0] != "mma" {
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
	if len(c.args) != op.args {
		return fmt.Errorf("%w: %d operands where %q has %d", ErrFormat, len(c.args), word, op.args)
	}
	if mods[0] == "bra" {
		if !c.args[0].label {
			return fmt.Errorf("%w: branch to %q", ErrFormat, rest)
		}
		p.jumps[len(p.kernel.code)] = c.args[0].name
		in.flow = jump
		return nil
	}
	if err := c.check(mods[0]); err != nil {
		return err
	}
	var err error
	in.run, err = op.make(c)
	return err
}

// check holds operands against where they may stand: vectors and addresses
// belong to loads, stores and moves, and what is written is a register.
func (c *call) check(name string) error {
	bad := fmt.Errorf("%w: operands of %q", ErrFormat, name)
	memory := name == "ld" || name == "st" || name == "atom" || name == "red"
	at := -1 // the operand that is an address
	if memory {
		at = 1
		if name == "st" || name == "red" {
			at = 0
		}
	}
	for i, o := range c.args {
		if o.label || o.mem != (i == at) || o.vec != nil && name != "mov" && name != "ld" && name != "st" && name != "mma" {
			return bad
		}
		for _, e := range o.vec {
			if e.mem || e.vec != nil || e.label || i == 0 && e.value != nil {
				return bad
			}
		}
	}
	writes := len(c.args) > 0 && name != "st" && name != "red" && name != "bar"
	if writes && c.args[0].value != nil {
		return bad
	}
	return nil
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
