package grammar

import "slices"

// A row is a place in a text, as far as the grammar goes: what may come next
// and in which surroundings. Rows are hash-consed within a State, so a list of
// equal things needs one row, however long it is. Earley, "An Efficient
// Context-Free Parsing Algorithm", 1970; nullable symbols as in Aycock and
// Horspool, "Practical Earley Parsing", 2002.
type row struct {
	lo, hi int32 // its items in State.items; those at the end of a rule are not kept
	next   int32 // next row of the same bucket, or -1
	hash   uint64
	begin  *lexState // lexemes that may begin here
	final  bool      // the text may end here
	tokens bool      // tokens that are symbols may come here
}

// An item is a place in a right-hand side.
type item struct {
	pos    int32 // of the next symbol in Grammar.code
	origin int32 // row in which the rule began; here for the row itself
	count  int32 // of a loop, how often its body has been read
}

// here is the origin of items of their own row. So rows that differ only in where
// they are compare as equal.
const here = -1

// A source is a row and what has been read after it: lexemes that end, or a token.
type source struct {
	row   int32
	ends  *endSet
	token int32 // if ends is nil
}

// recogniser holds the rows of one sequence, as a stack.
type recogniser struct {
	g       *Grammar
	rows    []row
	items   []item
	buckets []int32 // last row of each, or -1; a power of two

	list    []item     // of the row that is being made
	seen    []seenItem // open addressing; a power of two
	epoch   uint32
	lexemes []int32  // expected, while a row is made
	stamps  []uint32 // by lexeme, the epoch in which it was noted
	work    int      // steps since the count was cleared
}

type seenItem struct {
	item
	epoch uint32
}

func newRecogniser(g *Grammar) recogniser {
	r := recogniser{g: g, buckets: make([]int32, 64), seen: make([]seenItem, 256), stamps: make([]uint32, g.nLex)}
	for i := range r.buckets {
		r.buckets[i] = -1
	}
	return r
}

// first makes the row in which a text begins.
func (r *recogniser) first() (int32, error) {
	r.open()
	for _, p := range r.g.rules[r.g.root].starts {
		r.add(item{p, here, 0})
	}
	return r.close(r.g.rules[r.g.root].nullable)
}

// scan makes the row behind the sources, or finds it.
func (r *recogniser) scan(sources []source) (int32, error) {
	r.open()
	for _, s := range sources {
		row := &r.rows[s.row]
		r.work += int(row.hi - row.lo)
		for _, it := range r.items[row.lo:row.hi] {
			sym := r.g.code[it.pos]
			if s.ends != nil && sym < r.g.nLex && s.ends.has(sym) || s.ends == nil && r.g.takes(sym, s.token) {
				if it.origin == here {
					it.origin = s.row
				}
				r.advance(it)
			}
		}
	}
	return r.close(false)
}

// takes reports whether a symbol is a set of tokens with this one.
func (g *Grammar) takes(sym, token int32) bool {
	if sym -= g.nLex; sym < 0 || sym >= g.nTokens {
		return false
	}
	_, ok := slices.BinarySearch(g.tokens[sym], token)
	return ok
}

func (r *recogniser) open() {
	r.list = r.list[:0]
	r.lexemes = r.lexemes[:0]
	if r.epoch++; r.epoch == 0 { // wrapped: old marks would seem new
		clear(r.seen)
		clear(r.stamps)
		r.epoch = 1
	}
}

// add puts an item on the list, unless it is there.
func (r *recogniser) add(it item) {
	mask := uint32(len(r.seen) - 1)
	h := uint32(it.pos)*0x9E3779B1 ^ uint32(it.origin)*0x85EBCA6B ^ uint32(it.count)*0xC2B2AE35
	i := (h ^ h>>15) & mask
	for r.seen[i].epoch == r.epoch {
		if r.seen[i].item == it {
			return
		}
		i = (i + 1) & mask
	}
	r.seen[i] = seenItem{it, r.epoch}
	r.list = append(r.list, it)
	if len(r.list)*2 > len(r.seen) {
		r.rehash()
	}
}

func (r *recogniser) rehash() {
	r.seen = make([]seenItem, 2*len(r.seen))
	list := r.list
	r.list = r.list[:0]
	for _, it := range list {
		r.add(it)
	}
}

// advance adds what an item is after its next symbol was read.
func (r *recogniser) advance(it item) {
	nt := r.g.loop[it.pos]
	if nt < 0 {
		r.add(item{it.pos + 1, it.origin, 0})
		return
	}
	rule := &r.g.rules[nt]
	n := it.count + 1
	if rule.max < 0 {
		n = min(n, rule.min) // more makes no difference
	}
	if n >= rule.min {
		r.add(item{it.pos + 1, it.origin, 0})
	}
	if rule.max < 0 || n < rule.max {
		r.add(item{it.pos, it.origin, n})
	}
}

// skip adds what an item is if its next symbol is empty. A loop over what may be
// empty is itself counted as empty where it begins.
func (r *recogniser) skip(it item) {
	if r.g.loop[it.pos] < 0 {
		r.add(item{it.pos + 1, it.origin, 0})
	}
}

// close completes the list and makes it a row.
func (r *recogniser) close(final bool) (int32, error) {
	g := r.g
	tokens := false
	lo := len(r.items)
	hash := uint64(0)
	for i := 0; i < len(r.list); i++ {
		if i >= g.limits.Items {
			r.items = r.items[:lo]
			return 0, &LimitError{"items in one row", g.limits.Items}
		}
		if r.work++; r.work > g.limits.Work {
			r.items = r.items[:lo]
			return 0, &LimitError{workName, g.limits.Work}
		}
		it := r.list[i]
		sym := g.code[it.pos]
		if sym < 0 {
			if it.origin == here {
				continue // an empty rule: skipped where it was predicted
			}
			if it.origin == 0 && ^sym == g.root {
				final = true
			}
			r.complete(it, ^sym+g.nLex+g.nTokens)
			continue
		}
		r.items = append(r.items, it)
		hash = (hash ^ uint64(it.pos)<<40 ^ uint64(uint32(it.origin))<<8 ^ uint64(it.count)) * 0xFF51AFD7ED558CCD
		hash ^= hash >> 31
		switch {
		case sym < g.nLex:
			if r.stamps[sym] != r.epoch {
				r.stamps[sym] = r.epoch
				r.lexemes = append(r.lexemes, sym)
			}
			if g.lex.lexemes[sym].nullable {
				r.skip(it)
			}
		case sym < g.nLex+g.nTokens:
			tokens = true
		default:
			rule := &g.rules[sym-g.nLex-g.nTokens]
			for _, p := range rule.starts {
				r.add(item{p, here, 0})
			}
			if rule.nullable {
				r.skip(it)
			}
		}
	}
	return r.push(lo, hash, final, tokens)
}

// complete advances what waited for the nonterminal sym in the row where it began.
func (r *recogniser) complete(it item, sym int32) {
	row := &r.rows[it.origin]
	r.work += int(row.hi - row.lo)
	for _, w := range r.items[row.lo:row.hi] {
		if r.g.code[w.pos] == sym {
			if w.origin == here {
				w.origin = it.origin
			}
			r.advance(w)
		}
	}
}

// push makes the items from lo on a row, unless there is an equal one.
func (r *recogniser) push(lo int, hash uint64, final, tokens bool) (int32, error) {
	bucket := hash & uint64(len(r.buckets)-1)
	for i := r.buckets[bucket]; i >= 0; i = r.rows[i].next {
		if w := &r.rows[i]; w.hash == hash && w.final == final && slices.Equal(r.items[w.lo:w.hi], r.items[lo:]) {
			r.items = r.items[:lo]
			return i, nil
		}
	}
	limits := &r.g.limits
	var err error
	var begin *lexState
	if len(r.rows) >= limits.Rows {
		err = &LimitError{"rows in one sequence", limits.Rows}
	} else if len(r.items) > limits.Total {
		err = &LimitError{"items in one sequence", limits.Total}
	} else {
		slices.Sort(r.lexemes)
		begin, err = r.g.lex.begin(r.lexemes)
	}
	if err != nil {
		r.items = r.items[:lo]
		return 0, err
	}
	n := int32(len(r.rows))
	r.rows = append(r.rows, row{int32(lo), int32(len(r.items)), r.buckets[bucket], hash, begin, final, tokens})
	r.buckets[bucket] = n
	if len(r.rows) > 2*len(r.buckets) {
		r.spread()
	}
	return n, nil
}

// spread makes more buckets. Each lists its rows from the last to the first.
func (r *recogniser) spread() {
	r.buckets = slices.Repeat([]int32{-1}, 4*len(r.buckets))
	for i := range r.rows {
		b := &r.buckets[r.rows[i].hash&uint64(len(r.buckets)-1)]
		r.rows[i].next, *b = *b, int32(i)
	}
}

// truncate drops the rows from n on.
func (r *recogniser) truncate(n int32) {
	for i := int32(len(r.rows)) - 1; i >= n; i-- {
		r.buckets[r.rows[i].hash&uint64(len(r.buckets)-1)] = r.rows[i].next
		r.items = r.items[:r.rows[i].lo]
	}
	r.rows = r.rows[:n]
}
