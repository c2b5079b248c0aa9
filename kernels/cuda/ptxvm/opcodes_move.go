package ptxvm

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// opIs reports whether the instruction, without its guard, has a name.
func (in *inst) opIs(name string) bool {
	text := in.text
	if strings.HasPrefix(text, "@") {
		_, text, _ = strings.Cut(text, " ")
		text = strings.TrimSpace(text)
	}
	return strings.HasPrefix(text, name+".")
}

// move copies; with a vector it takes a register apart or puts one together.
func move(c *call) (run, error) {
	t, d, a := c.of, c.args[0], c.args[1]
	if t.size == 0 || d.vec != nil && a.vec != nil {
		return nil, errMeaning
	}
	if d.vec == nil && a.vec == nil {
		return map1(d, a, func(a uint64) uint64 { return a & t.mask() }), nil
	}
	n := len(d.vec) + len(a.vec)
	if n > t.size || t.size%n != 0 {
		return nil, errMeaning
	}
	part := numType{untyped, t.size / n}
	return func(w *warp, m uint32) {
		if d.vec != nil {
			x := *w.in(a, m)
			for i, e := range d.vec {
				map1(e, operand{value: &x}, func(v uint64) uint64 { return v >> (8 * part.size * i) & part.mask() })(w, m)
			}
			return
		}
		var sum lanes
		for i, e := range a.vec {
			x := w.in(e, m)
			for l := range sum {
				sum[l] |= x[l] & part.mask() << (8 * part.size * i)
			}
		}
		map1(d, operand{value: &sum}, func(v uint64) uint64 { return v })(w, m)
	}, nil
}

// window makes cvta: addresses of shared and local memory lie in windows of
// the generic space, others are what they are.
func window(c *call) (run, error) {
	base := uint64(0)
	switch {
	case c.of != (numType{unsigned, 8}):
		return nil, errMeaning
	case c.has("shared"):
		base = sharedWindow
	case c.has("local"):
		base = localWindow
	}
	if c.has("to") {
		base = -base
	}
	return map1(c.args[0], c.args[1], func(a uint64) uint64 { return a + base }), nil
}

var roundings = map[string]func(float64) float64{
	"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil,
}

// convert makes cvt. A float becomes the nearest whole number the type has,
// and NaN zero.
func convert(c *call) (run, error) {
	n := len(c.mods)
	if n < 2 || n > 3 {
		return nil, errMeaning
	}
	to, ok := numTypes[c.mods[n-2]]
	from := c.of
	if !ok || to.kind == predicate || from.kind == predicate || to.kind == untyped || from.kind == untyped {
		return nil, errMeaning
	}
	mode := ""
	if n == 3 {
		mode = c.mods[0]
	}
	round := roundings[mode]
	if mode != "" && mode != "rn" && round == nil {
		return nil, errMeaning
	}
	var f func(uint64) uint64
	switch {
	case to.kind != floating && from.kind != floating:
		f = func(a uint64) uint64 {
			v := uint64(from.extend(a)) & to.mask()
			if to.kind == signed && to.size < 4 { // a wider destination is filled
				v = uint64(to.extend(v)) & 0xffffffff
			}
			return v
		}
	case to.kind != floating:
		if round == nil {
			return nil, errMeaning
		}
		f = func(a uint64) uint64 { return to.whole(round(from.float(a))) }
	case from.kind != floating:
		// float64 holds 32 bits exactly, so only the last rounding counts.
		if from.size == 8 {
			return nil, errMeaning
		}
		f = func(a uint64) uint64 { return to.bits(float64(from.extend(a))) }
	default:
		// float64 to f16 would round twice.
		if from.size == 8 && to.size == 2 {
			return nil, errMeaning
		}
		f = func(a uint64) uint64 {
			v := from.float(a)
			if round != nil {
				v = round(v)
			}
			return to.bits(v)
		}
	}
	return map1(c.args[0], c.args[1], f), nil
}

// whole returns the number of the type nearest to f.
func (t numType) whole(f float64) uint64 {
	n := 8 * t.size
	least, above := 0.0, math.Ldexp(1, n)
	if t.kind == signed {
		least, above = -math.Ldexp(1, n-1), math.Ldexp(1, n-1)
	}
	switch {
	case f != f:
		return 0
	case f <= least:
		return uint64(int64(least)) & t.mask()
	case f >= above && t.kind == signed:
		return t.mask() >> 1
	case f >= above:
		return t.mask()
	case t.kind == signed:
		return uint64(int64(f)) & t.mask()
	}
	return uint64(f)
}

// access makes loads and stores.
func access(store bool) func(*call) (run, error) {
	return func(c *call) (run, error) {
		t, addr, data := c.of, c.args[1], c.args[0]
		if store {
			addr, data = data, addr
		}
		parts, want := data.vec, 1
		if parts == nil {
			parts = []operand{data}
		}
		if c.has("v2") {
			want = 2
		}
		if c.has("v4") {
			want = 4
		}
		if t.size == 0 || t.kind == predicate || len(parts) != want || t.size*want > 16 {
			return nil, errMeaning
		}
		s := generic
		for _, mod := range c.mods {
			if v, ok := spaces[mod]; ok {
				s = v
			}
		}
		return func(w *warp, m uint32) {
			base := *w.in(addr, m)
			for i, p := range parts {
				var r *lanes
				if store {
					r = w.in(p, m)
				} else {
					r = w.out(p, m)
				}
				for q := m; q != 0; q &= q - 1 {
					l := bits.TrailingZeros32(q)
					b := w.at(s, base[l]+addr.off, t.size*want, store, l)[i*t.size:]
					if store {
						for j := range t.size {
							b[j] = byte(r[l] >> (8 * j))
						}
						continue
					}
					var v uint64
					for j := range t.size {
						v |= uint64(b[j]) << (8 * j)
					}
					// A destination may be wider; signed numbers fill it.
					if t.kind == signed {
						v = uint64(t.extend(v)) & (numType{signed, max(p.size, t.size)}).mask()
					}
					r[l] = v
				}
			}
		}, nil
	}
}

// shuffle makes shfl.sync with the whole warp as its segment.
func shuffle(c *call) (run, error) {
	if len(c.mods) != 3 || c.mods[0] != "sync" || c.of != (numType{untyped, 4}) {
		return nil, errMeaning
	}
	clamp := c.args[3].value
	up := c.mods[1] == "up"
	if clamp == nil || !up && clamp[0] != 31 || up && clamp[0] != 0 {
		return nil, errMeaning
	}
	c.in.flow, c.in.members = collective, c.args[4]
	source := map[string]func(l, by int) int{
		"bfly": func(l, by int) int { return l ^ by },
		"down": func(l, by int) int { return l + by },
		"up":   func(l, by int) int { return l - by },
		"idx":  func(_, by int) int { return by },
	}[c.mods[1]]
	d, a, by := c.args[0], c.args[1], c.args[2]
	return func(w *warp, m uint32) {
		x, n := *w.in(a, m), *w.in(by, m)
		r := w.out(d, m)
		for q := m; q != 0; q &= q - 1 {
			l := bits.TrailingZeros32(q)
			from := source(l, int(n[l]&31))
			if from < 0 || from > 31 {
				from = l
			}
			if m>>from&1 == 0 {
				w.fault(l, "a shuffle from lane %d, which takes no part", from)
			}
			r[l] = x[from]
		}
	}, nil
}

// barrier makes bar.sync 0 and bar.warp.sync.
func barrier(c *call) (run, error) {
	if c.has("warp") {
		c.in.flow, c.in.members = collective, c.args[0]
		return func(*warp, uint32) {}, nil
	}
	if len(c.mods) != 1 || c.args[0].value == nil || c.args[0].value[0] != 0 {
		return nil, errMeaning
	}
	c.in.flow = meet
	return nil, nil
}

// permute makes prmt.b32: each byte of the result is one of the eight of a and b,
// or its sign eight times, as four bits of the third operand say.
func permute(c *call) (run, error) {
	if c.of != (numType{untyped, 4}) || len(c.mods) != 1 {
		return nil, errMeaning
	}
	return map3(c, func(a, b, by uint64) uint64 {
		all, r := b<<32|a&math.MaxUint32, uint64(0)
		for i := range 4 {
			n := by >> (4 * i)
			v := all >> (8 * (n & 7)) & 255
			if n&8 != 0 {
				v = v >> 7 * 255
			}
			r |= v << (8 * i)
		}
		return r
	}), nil
}

// increment makes atom.global.inc.u32 d, [a], b: d is what is at a, which counts on
// to b and begins again at 0.
func increment(c *call) (run, error) {
	if c.of != (numType{unsigned, 4}) || !c.has("global") || !c.has("inc") {
		return nil, errMeaning
	}
	d, addr, b := c.args[0], c.args[1], c.args[2]
	return func(w *warp, m uint32) {
		at, most := *w.in(addr, m), *w.in(b, m)
		r := w.out(d, m)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			v := binary.LittleEndian.Uint32(w.at(global, at[l]+addr.off, 4, false, l))
			r[l] = uint64(v)
			if v++; uint64(v) > most[l] {
				v = 0
			}
			binary.LittleEndian.PutUint32(w.at(global, at[l]+addr.off, 4, true, l), v)
		}
	}, nil
}

// nothing makes instructions that order what an interpreter does in order anyway.
func nothing(*call) (run, error) { return func(*warp, uint32) {}, nil }
