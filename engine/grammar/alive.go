package grammar

import "unsafe"

// matchesSome reports whether e matches any string. reps has a byte of each class.
//
// It looks for a nullable derivative, first among those that are the shortest by
// their lower bound; that finds a short string where there is one. What is on the
// way to it is alive; if there is none, all that was seen is not.
func (x *exprs) matchesSome(e expr, reps []byte) bool {
	if alive, known := x.known(e); known {
		return alive
	}
	w := &x.ways
	w.reset()
	defer func() { x.bytes -= wayBytes * len(w.list) }()
	w.push(x, e, -1)
	for len(w.heap) > 0 {
		at := w.heap[0]
		top := &w.list[at]
		if top.class == len(reps) {
			w.pop()
			continue
		}
		c := top.class
		top.class++
		class := byte(c)
		if x.bytewise {
			class = reps[c]
		}
		d := x.derive(top.e, reps[c], class)
		if !x.spend(1) {
			return false
		}
		alive, known := x.known(d)
		if alive {
			for ; at >= 0; at = w.list[at].from {
				x.nodes[w.list[at].e].life = living
			}
			return true
		}
		if !known && !w.seen[d] {
			w.push(x, d, at)
		}
	}
	if x.err != nil {
		return false
	}
	for e := range w.seen {
		x.nodes[e].life = dead
	}
	return false
}

// known reports whether e matches any string, if that is clear or was found before.
func (x *exprs) known(e expr) (alive, known bool) {
	switch n := &x.nodes[e]; {
	case n.nullable:
		return true, true
	case !n.negative:
		return e != nothing, true
	}
	life := x.nodes[e].life
	return life == living, life != unsure
}

// life is what is known of whether a negative expression matches anything.
type life uint8

const (
	unsure life = iota
	living
	dead
)

// ways is the working memory of a search: expressions, and a heap of those that
// have derivatives still to be looked at, the shortest first.
type ways struct {
	list []way
	heap []int32 // numbers in list
	seen map[expr]bool
}

type way struct {
	e     expr
	class int   // next
	from  int32 // of which it is a derivative; -1 for none
	least int32
}

// wayBytes is what a way takes at most, while there is a search.
const wayBytes = 2*int(unsafe.Sizeof(way{})+unsafe.Sizeof(int32(0))) + mapBytes

func (w *ways) reset() {
	if w.seen == nil || len(w.seen) > 1<<12 {
		*w = ways{seen: map[expr]bool{}} // clearing takes time by the largest it ever was
		return
	}
	w.list, w.heap = w.list[:0], w.heap[:0]
	clear(w.seen)
}

// effort is about how much is missing from e to a match: of an intersection, what each
// of its parts misses, since one byte seldom brings all of them on. It looks only so deep.
func (x *exprs) effort(e expr, depth int) int32 {
	n := &x.nodes[e]
	if depth == 0 || !n.negative || n.nullable {
		return n.least
	}
	const long = 1 << 30
	sum := int64(0)
	kids := x.kids(e)
	switch n.op {
	case exAnd:
		for _, k := range kids {
			sum += int64(x.effort(expr(k), depth-1))
		}
	case exAlt:
		sum = long
		for _, k := range kids {
			sum = min(sum, int64(x.effort(expr(k), depth-1)))
		}
	case exCat:
		sum = int64(x.effort(expr(kids[0]), depth-1)) + int64(x.nodes[kids[1]].least)
	default:
		return n.least
	}
	return int32(min(sum, long))
}

// before orders by length, then by age.
func (w *ways) before(i, j int) bool {
	a, b := w.heap[i], w.heap[j]
	if x, y := w.list[a].least, w.list[b].least; x != y {
		return x < y
	}
	return a < b
}

func (w *ways) push(x *exprs, e expr, from int32) {
	if !x.take(wayBytes) {
		return
	}
	w.seen[e] = true
	w.heap = append(w.heap, int32(len(w.list)))
	w.list = append(w.list, way{e, 0, from, x.effort(e, 4)})
	for i := len(w.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !w.before(i, up) {
			break
		}
		w.heap[i], w.heap[up] = w.heap[up], w.heap[i]
		i = up
	}
}

func (w *ways) pop() {
	n := len(w.heap) - 1
	w.heap[0] = w.heap[n]
	w.heap = w.heap[:n]
	for i := 0; ; {
		least := i
		for _, kid := range [2]int{2*i + 1, 2*i + 2} {
			if kid < n && w.before(kid, least) {
				least = kid
			}
		}
		if least == i {
			return
		}
		w.heap[i], w.heap[least] = w.heap[least], w.heap[i]
		i = least
	}
}
