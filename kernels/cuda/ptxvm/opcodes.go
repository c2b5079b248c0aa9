package ptxvm

import (
	"cmp"
	"math"
	"math/bits"
)

// opcodes lists the instructions, by the chapters of the ISA: integer and
// floating-point arithmetic, comparison, logic, data movement, control.
var opcodes = map[string]opcode{
	"add":   {"rn", 3, arithmetic(func(a, b int64) int64 { return a + b }, func(a, b float64) float64 { return a + b })},
	"sub":   {"rn", 3, arithmetic(func(a, b int64) int64 { return a - b }, func(a, b float64) float64 { return a - b })},
	"mul":   {"rn lo hi wide", 3, multiply},
	"mad":   {"lo wide", 4, multiplyAdd},
	"fma":   {"rn", 4, fused},
	"div":   {"rn approx full", 3, divide},
	"rem":   {"", 3, divide},
	"min":   {"", 3, extreme(-1)},
	"max":   {"", 3, extreme(1)},
	"abs":   {"", 2, arithmetic1(func(a int64) int64 { return max(a, -a) }, math.Abs)},
	"neg":   {"", 2, arithmetic1(func(a int64) int64 { return -a }, func(a float64) float64 { return -a })},
	"sqrt":  {"rn approx", 2, arithmetic1(nil, math.Sqrt)},
	"rsqrt": {"approx", 2, arithmetic1(nil, func(a float64) float64 { return 1 / math.Sqrt(a) })},
	"rcp":   {"rn approx", 2, arithmetic1(nil, func(a float64) float64 { return 1 / a })},
	"ex2":   {"approx", 2, arithmetic1(nil, math.Exp2)},
	"lg2":   {"approx", 2, arithmetic1(nil, math.Log2)},
	"dp4a":  {"", 4, dot4},
	"mma":   {"sync aligned m16n8k16 m16n8k32 row col bf16", 4, product},
	"copysign": {"", 3, func(c *call) (run, error) {
		if c.of != (numType{floating, 4}) {
			return nil, errMeaning
		}
		return map2(c, func(a, b uint64) uint64 { return a&(1<<31) | b&(1<<31-1) }), nil
	}},
	"setp": {"eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan", 3, compare},
	"selp": {"", 4, choose},
	"and":  {"", 3, logic(func(a, b uint64) uint64 { return a & b })},
	"or":   {"", 3, logic(func(a, b uint64) uint64 { return a | b })},
	"xor":  {"", 3, logic(func(a, b uint64) uint64 { return a ^ b })},
	"not": {"", 2, func(c *call) (run, error) {
		t := c.of
		return map1(c.args[0], c.args[1], func(a uint64) uint64 { return ^a & t.mask() }), nil
	}},
	"shl":  {"", 3, shift},
	"shr":  {"", 3, shift},
	"bfe":  {"", 4, extract},
	"mov":  {"", 2, move},
	"cvta": {"to shared local global const", 2, window},
	"cvt":  {"rn rni rzi rmi rpi", 2, convert},
	"ld":   {"global const shared local param nc ca cg cs v2 v4", 2, access(false)},
	"st":   {"global shared local wb cg cs v2 v4", 2, access(true)},
	"shfl": {"sync bfly down up idx", 5, shuffle},
	"bra":  {"uni", 1, nil},
	"bar":  {"sync warp", 1, barrier},
	"ret":  {"", 0, control(leave)},
	"exit": {"", 0, control(leave)},
	"trap": {"", 0, control(trap)},

	"ldmatrix":              {"sync aligned m8n8 x1 x2 x4 trans shared", 2, loadMatrix},
	"cp.async.cg":           {"shared global", 4, copyAsync(16)},
	"cp.async.ca":           {"shared global", 4, copyAsync(4, 8, 16)},
	"cp.async.commit_group": {"", 0, commitAsync},
	"cp.async.wait_group":   {"", 1, waitAsync},
	"cvt.rn.f16x2":          {"", 3, packF16},
	"cvt.rn.bf16x2":         {"", 3, packBF16},
	"sub.rn.f16x2":          {"", 3, halves(func(a, b float32) float32 { return a - b })},
	"mul.rn.f16x2":          {"", 3, halves(func(a, b float32) float32 { return a * b })},

	"atom":               {"global inc", 3, increment},
	"fence":              {"acq_rel gpu", 0, nothing},
	"prmt":               {"", 4, permute},
	"fence.proxy":        {"async shared::cta", 0, proxyFence},
	"wgmma.fence":        {"sync aligned", 0, wgmmaControl(wgmmaFence)},
	"wgmma.commit_group": {"sync aligned", 0, wgmmaControl(wgmmaCommit)},
	"wgmma.wait_group":   {"sync aligned", 1, wgmmaWait},
	"wgmma.mma_async":    {"sync aligned bf16" + wgmmaShapes(), anyArgs, wgmmaProduct},
}

func control(f flow) func(*call) (run, error) {
	return func(c *call) (run, error) { c.in.flow = f; return nil, nil }
}

// arithmetic makes instructions on two numbers; whole works modulo the type.
func arithmetic(whole func(a, b int64) int64, real func(a, b float64) float64) func(*call) (run, error) {
	return func(c *call) (run, error) {
		t := c.of
		switch {
		case t.kind == floating && t.size >= 4:
			return map2(c, func(a, b uint64) uint64 { return t.bits(real(t.float(a), t.float(b))) }), nil
		case t.kind <= untyped && t.size >= 2:
			return map2(c, func(a, b uint64) uint64 { return uint64(whole(int64(a), int64(b))) & t.mask() }), nil
		}
		return nil, errMeaning
	}
}

func arithmetic1(whole func(a int64) int64, real func(a float64) float64) func(*call) (run, error) {
	return func(c *call) (run, error) {
		t := c.of
		switch {
		case t.kind == floating && t.size >= 4:
			return map1(c.args[0], c.args[1], func(a uint64) uint64 { return t.bits(real(t.float(a))) }), nil
		case whole != nil && t.kind == signed:
			return map1(c.args[0], c.args[1], func(a uint64) uint64 { return uint64(whole(t.extend(a))) & t.mask() }), nil
		}
		return nil, errMeaning
	}
}

func multiply(c *call) (run, error) {
	t := c.of
	switch {
	case t.kind == floating:
		return arithmetic(nil, func(a, b float64) float64 { return a * b })(c)
	case t.kind > signed:
	case c.has("lo"):
		return map2(c, func(a, b uint64) uint64 { return a * b & t.mask() }), nil
	case c.has("wide") && t.size < 8:
		wide := numType{t.kind, 2 * t.size}
		return map2(c, func(a, b uint64) uint64 { return uint64(t.extend(a)*t.extend(b)) & wide.mask() }), nil
	case c.has("hi") && t.size < 8:
		return map2(c, func(a, b uint64) uint64 { return uint64(t.extend(a)*t.extend(b)) >> (8 * t.size) & t.mask() }), nil
	}
	return nil, errMeaning
}

func multiplyAdd(c *call) (run, error) {
	t := c.of
	switch {
	case t.kind > signed:
	case c.has("lo"):
		return map3(c, func(a, b, d uint64) uint64 { return (a*b + d) & t.mask() }), nil
	case c.has("wide") && t.size < 8:
		wide := numType{t.kind, 2 * t.size}
		return map3(c, func(a, b, d uint64) uint64 { return (uint64(t.extend(a)*t.extend(b)) + d) & wide.mask() }), nil
	}
	return nil, errMeaning
}

func fused(c *call) (run, error) {
	if c.of != (numType{floating, 4}) {
		return nil, errMeaning
	}
	return map3(c, func(a, b, d uint64) uint64 {
		return uint64(math.Float32bits(fma32(math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)), math.Float32frombits(uint32(d)))))
	}), nil
}

// divide makes div and rem. What the ISA leaves open, division by zero, faults.
func divide(c *call) (run, error) {
	t := c.of
	rem := c.in.opIs("rem")
	if t.kind == floating && !rem {
		return arithmetic(nil, func(a, b float64) float64 { return a / b })(c)
	}
	if t.kind > signed {
		return nil, errMeaning
	}
	divisor := c.args[2]
	f := map2(c, func(a, b uint64) uint64 {
		var q, r uint64
		if t.kind == signed && t.extend(b) == -1 {
			q = -a // also for the least number, which has no opposite
		} else if t.kind == signed {
			q, r = uint64(t.extend(a)/t.extend(b)), uint64(t.extend(a)%t.extend(b))
		} else {
			q, r = a/b, a%b
		}
		if rem {
			return r & t.mask()
		}
		return q & t.mask()
	})
	return func(w *warp, m uint32) {
		b := w.in(divisor, m)
		for q := m; q != 0; q &= q - 1 {
			if l := bits.TrailingZeros32(q); b[l]&t.mask() == 0 {
				w.fault(l, "division by zero")
			}
		}
		f(w, m)
	}, nil
}

// extreme makes min (sign -1) and max (sign 1). Of a number and a NaN the
// number is taken.
func extreme(sign int) func(*call) (run, error) {
	return func(c *call) (run, error) {
		t := c.of
		if t.kind == floating && t.size >= 4 {
			return map2(c, func(a, b uint64) uint64 {
				x, y := t.float(a), t.float(b)
				switch {
				case x != x:
					return b
				case y != y:
					return a
				case sign < 0:
					return t.bits(math.Min(x, y))
				}
				return t.bits(math.Max(x, y))
			}), nil
		}
		if t.kind > signed {
			return nil, errMeaning
		}
		return map2(c, func(a, b uint64) uint64 {
			if t.order(a, b) == sign {
				return a
			}
			return b
		}), nil
	}
}

// order compares whole numbers of the type.
func (t numType) order(a, b uint64) int {
	if t.kind == signed {
		return cmp.Compare(t.extend(a), t.extend(b))
	}
	return cmp.Compare(a&t.mask(), b&t.mask())
}

// dot4 adds the products of four bytes to c.
func dot4(c *call) (run, error) {
	if c.of != (numType{signed, 4}) || len(c.mods) != 2 || c.mods[0] != "s32" {
		return nil, errMeaning
	}
	return map3(c, func(a, b, d uint64) uint64 {
		s := int32(d)
		for i := 0; i < 32; i += 8 {
			s += int32(int8(a>>i)) * int32(int8(b>>i))
		}
		return uint64(uint32(s))
	}), nil
}

// A relation says which of "less, equal, greater, unordered" make it true.
var relations = map[string][4]bool{
	"lt": {true, false, false, false}, "le": {true, true, false, false}, "eq": {false, true, false, false},
	"ge": {false, true, true, false}, "gt": {false, false, true, false}, "ne": {true, false, true, false},
	"ltu": {true, false, false, true}, "leu": {true, true, false, true}, "equ": {false, true, false, true},
	"geu": {false, true, true, true}, "gtu": {false, false, true, true}, "neu": {true, false, true, true},
	"lo": {true, false, false, false}, "ls": {true, true, false, false},
	"hi": {false, false, true, false}, "hs": {false, true, true, false},
	"num": {true, true, true, false}, "nan": {false, false, false, true},
}

func compare(c *call) (run, error) {
	t := c.of
	if len(c.mods) != 2 {
		return nil, errMeaning
	}
	holds, ok := relations[c.mods[0]]
	if !ok || t.size == 0 || t.kind == predicate || t.kind == floating && t.size < 4 {
		return nil, errMeaning
	}
	truth := func(at int) uint64 {
		if holds[at] {
			return 1
		}
		return 0
	}
	if t.kind != floating {
		return map2(c, func(a, b uint64) uint64 { return truth(1 + t.order(a, b)) }), nil
	}
	return map2(c, func(a, b uint64) uint64 {
		x, y := t.float(a), t.float(b)
		if x != x || y != y {
			return truth(3)
		}
		return truth(1 + cmp.Compare(x, y))
	}), nil
}

func choose(c *call) (run, error) {
	if c.of.size < 2 {
		return nil, errMeaning
	}
	return map3(c, func(a, b, p uint64) uint64 {
		if p != 0 {
			return a & c.of.mask()
		}
		return b & c.of.mask()
	}), nil
}

func logic(f func(a, b uint64) uint64) func(*call) (run, error) {
	return func(c *call) (run, error) {
		if c.of.kind != untyped && c.of.kind != predicate {
			return nil, errMeaning
		}
		return map2(c, func(a, b uint64) uint64 { return f(a, b) & c.of.mask() }), nil
	}
}

// shift makes shl and shr; amounts beyond the width count as the width.
func shift(c *call) (run, error) {
	t := c.of
	if t.kind > untyped || t.size < 2 {
		return nil, errMeaning
	}
	left := c.in.opIs("shl")
	return map2(c, func(a, b uint64) uint64 {
		n := min(b&0xffffffff, uint64(8*t.size))
		switch {
		case left:
			return a << n & t.mask()
		case t.kind == signed:
			return uint64(t.extend(a)>>n) & t.mask()
		}
		return (a & t.mask()) >> n
	}), nil
}

// extract makes bfe. Bits beyond the number's end are zeros, of a signed one
// copies of the field's, or the number's, last bit.
func extract(c *call) (run, error) {
	t := c.of
	if t.kind > signed || t.size < 4 {
		return nil, errMeaning
	}
	return map3(c, func(a, pos, n uint64) uint64 {
		pos, n = pos&255, n&255
		if n == 0 {
			return 0
		}
		v := uint64(t.extend(a))
		if t.kind == signed {
			// Above the number its sign goes on; so extend has made it.
			v = uint64(int64(v) >> min(pos, 63))
			if n < 64 {
				v = uint64(int64(v<<(64-n)) >> (64 - n))
			}
			return v & t.mask()
		}
		if v >>= pos; n < 64 {
			v &= 1<<n - 1
		}
		return v & t.mask()
	}), nil
}
