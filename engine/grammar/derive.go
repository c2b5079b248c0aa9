package grammar

// derive returns what must follow b in the strings of e that begin with b. class
// is that of b: bytes of one class have the same derivatives.
func (x *exprs) derive(e expr, b, class byte) expr {
	n := x.nodes[e]
	switch n.op {
	case exNothing, exEmpty:
		return nothing
	case exSet:
		// As setOf, without reading all of it.
		if uint32(x.args[n.args+int32(b>>5)])>>(b&31)&1 != 0 {
			return empty
		}
		return nothing
	}
	// Some are as cheap to make as to remember.
	if e == everything {
		return e
	}
	switch n.op {
	case exNot:
		return x.not(x.derive(expr(x.args[n.args]), b, class))
	case exCat:
		if head := expr(x.args[n.args]); x.nodes[head].op == exSet {
			if x.derive(head, b, class) == empty {
				return expr(x.args[n.args+1])
			}
			return nothing
		}
	}
	key := uint64(e)<<8 | uint64(class)
	if d, ok := x.derivs.get(key); ok {
		return d
	}
	if !x.spend(1) {
		return nothing
	}
	var d expr
	switch n.op {
	case exCat:
		head, tail := expr(x.args[n.args]), expr(x.args[n.args+1])
		d = x.cat(x.derive(head, b, class), tail)
		if x.nullable(head) {
			d = x.alt(d, x.derive(tail, b, class))
		}
	case exAlt, exAnd:
		list := make([]expr, 0, n.n)
		for i := range n.n {
			if k := x.derive(expr(x.args[n.args+i]), b, class); k != nothing || n.op == exAnd {
				list = append(list, k)
			}
		}
		if n.op == exAlt {
			d = x.alt(list...)
		} else {
			d = x.and(list...)
		}
	case exTable:
		t := x.tables[x.args[n.args]]
		d = x.state(t, t.step(x.args[n.args+1], b))
	case exRepeat:
		body, least, most := expr(x.args[n.args]), int(x.args[n.args+1]), int(x.args[n.args+2])
		if most > 0 {
			most--
		}
		if d = x.derive(body, b, class); d != nothing {
			d = x.cat(d, x.repeat(body, max(least-1, 0), most))
		}
	}
	if x.err == nil {
		x.derivs.put(key, d, maxDerivs)
	}
	return d
}

// maxDerivs bounds what is remembered, 2 MB. A larger table misses the processor's
// caches, and growing it stops a mask for longer than making derivatives again.
const maxDerivs = 1 << 16

// derivs remembers derivatives, by expression and class: a hash table with open
// addressing, since it is asked far more often than anything else.
type derivs struct {
	entries []deriv // a power of two; key 0 is free
	n       int
}

type deriv struct {
	key uint64
	of  expr
}

// slot returns where the key is, or would be.
func (d *derivs) slot(key uint64) *deriv {
	mask := uint64(len(d.entries) - 1)
	h := key * 0x9E3779B97F4A7C15
	for i := h >> 32 & mask; ; i = (i + 1) & mask {
		if e := &d.entries[i]; e.key == key || e.key == 0 {
			return e
		}
	}
}

func (d *derivs) get(key uint64) (expr, bool) {
	if d.n == 0 {
		return 0, false
	}
	e := d.slot(key)
	return e.of, e.key != 0
}

// put keeps a derivative. Past most of them, all are forgotten.
func (d *derivs) put(key uint64, of expr, most int) {
	if d.n >= most {
		clear(d.entries)
		d.n = 0
	}
	if 2*d.n >= len(d.entries) {
		old := d.entries
		d.entries = make([]deriv, max(1024, 2*len(old)))
		for _, e := range old {
			if e.key != 0 {
				*d.slot(e.key) = e
			}
		}
	}
	if e := d.slot(key); e.key == 0 {
		*e = deriv{key, of}
		d.n++
	}
}

// first returns bytes that strings of e can begin with, and perhaps more.
func (x *exprs) first(e expr) (s byteSet) {
	if s, ok := x.firsts[e]; ok {
		return s
	}
	n := x.nodes[e]
	k := x.kids(e)
	switch n.op {
	case exSet:
		return x.setOf(e)
	case exCat:
		s = x.first(expr(k[0]))
		if x.nullable(expr(k[0])) {
			t := x.first(expr(k[1]))
			s.or(&t)
		}
	case exRepeat:
		s = x.first(expr(k[0]))
	case exAlt:
		for _, a := range k {
			t := x.first(expr(a))
			s.or(&t)
		}
	case exAnd:
		s = allBytes
		for _, a := range k {
			t := x.first(expr(a))
			s.and(&t)
		}
	case exNot:
		s = allBytes
	case exTable:
		s = x.tables[k[0]].first(k[1])
	}
	if x.take(firstBytes) {
		x.firsts[e] = s
	}
	return s
}
