package token

import (
	"math"
	"slices"

	"quern/engine/token/internal/pretoken"
)

// A merger joins neighbouring pieces of a word, best rank first and of equal
// ranks the leftmost, until none join.
//
// Pieces keep their numbers; of two that join, the left one stays. Ranks, each
// with its piece in the lower half, are the leaves of a tree whose nodes hold the
// least of 16 below. So finding the best costs one group, changing one a group
// a level, and a word of n pieces about n log n.
type merger struct {
	ids   []ID    // of pieces; None if a piece is no token
	start []int32 // of pieces, in the word
	next  []int32 // the piece to the right; the number of pieces at the end
	prev  []int32 // the piece to the left, or -1
	into  []ID    // the token of a piece and the next one

	// tree[0] holds the ranks of pieces with their next ones, tree[k+1] the
	// least of 16 neighbours in tree[k]; the last has one group. Unused places
	// hold nothing.
	tree  [maxLevels][]uint64
	nodes []uint64 // their memory
	depth int
	top   int // places in use in the last group, in fours

	pairs *pairTable // which pieces join; if nil, other says
	other pairer
	text  []byte // the word, for other
	// recent holds answers of pairs, at the upper bits of their hashes: a few
	// pairs are most of what is asked, and all of them lie far away.
	recent [1 << recentBits]struct {
		pair uint64 // plus one
		joining
	}
	bytes string // the word, if its bytes are the pieces and are in pairs
	steps int    // groups of 16 read, which tests bound
	watch *watch // of the encoding; may be nil
}

const (
	never     = math.MaxUint32
	nothing   = math.MaxUint64 // a leaf that does not join
	fan       = 16
	maxLevels = 8 // 16⁸ pieces

	recentBits = 13
)

// A joining is the token of two neighbours, and its rank; never if they stay
// apart.
type joining struct {
	rank uint32
	into ID
}

// A pairer finds which neighbours join by their text.
type pairer interface {
	pair(text []byte) (rank uint32, into ID)
}

// clear makes ready for another word.
func (m *merger) clear() { m.ids, m.start, m.bytes = m.ids[:0], m.start[:0], "" }

// add appends a piece that begins at byte start of the word.
func (m *merger) add(id ID, start int) {
	m.ids, m.start = append(m.ids, id), append(m.start, int32(start))
}

// end returns where the piece before piece i ends.
func (m *merger) end(i int32, size int) int {
	if int(i) == len(m.ids) {
		return size
	}
	return int(m.start[i])
}

// join finds out how piece l joins with r, its neighbour.
func (m *merger) join(l, r int32) (rank uint32) {
	if m.pairs == nil {
		rank, m.into[l] = m.other.pair(m.text[m.start[l]:m.end(m.next[r], len(m.text))])
		return rank
	}
	a, b := m.ids[l], m.ids[r]
	if a|b < 0 {
		return never
	}
	pair := m.pairs.key(a, b)
	e := &m.recent[pair*m.pairs.factor>>(64-recentBits)]
	if e.pair != pair+1 {
		e.pair = pair + 1
		e.rank, e.into = m.pairs.find(pair)
	}
	m.into[l] = e.into
	return e.rank
}

// run merges the pieces added. What remains are piece 0, the next of it, and
// so on.
func (m *merger) run() {
	n := len(m.ids)
	if n == 0 {
		return
	}
	m.next = slices.Grow(m.next[:0], n)[:n]
	m.prev = slices.Grow(m.prev[:0], n)[:n]
	m.into = slices.Grow(m.into[:0], n)[:n]
	for i := range m.next {
		m.next[i], m.prev[i] = int32(i)+1, int32(i)-1
	}
	m.plant(n)
	for {
		m.step()
		best := m.best()
		if best == nothing {
			return
		}
		i := int32(uint32(best))
		m.ids[i] = m.into[i]
		gone := m.next[i]
		right, left := m.next[gone], m.prev[i]
		m.next[i] = right
		// Both are looked up before either is used: memory is slow.
		rank, before := uint32(never), uint32(never)
		if int(right) < n {
			m.prev[right] = i
			rank = m.join(i, right)
		}
		if left >= 0 {
			before = m.join(left, i)
			m.set(left, before)
		}
		m.set(gone, never)
		m.set(i, rank)
	}
}

// step counts a join, made or tried.
func (m *merger) step() {
	if m.watch != nil {
		m.watch.step(1)
	}
}

// leaf is a rank with its piece.
func leaf(i int32, rank uint32) uint64 {
	if rank == never {
		return nothing
	}
	return uint64(rank)<<32 | uint64(i)
}

// plant builds the tree.
func (m *merger) plant(n int) {
	total, size := 0, n
	for m.depth = 1; ; m.depth++ {
		m.top = (size + 3) / 4
		size = (size + fan - 1) / fan
		total += size * fan
		if size == 1 {
			break
		}
	}
	m.nodes = slices.Grow(m.nodes[:0], total)[:total]
	rest := m.nodes
	size = n
	for k := range m.depth {
		size = (size + fan - 1) / fan * fan
		m.tree[k], rest = rest[:size], rest[size:]
		size /= fan
	}
	leaves := m.tree[0]
	if m.bytes == "" {
		for i := range int32(n - 1) {
			m.step()
			leaves[i] = leaf(i, m.join(i, i+1))
		}
	} else {
		for i := range int32(n - 1) {
			e := m.pairs.ofBytes[m.bytes[i]][m.bytes[i+1]]
			leaves[i], m.into[i] = leaf(i, e.rank), e.into
		}
	}
	for i := n - 1; i < len(leaves); i++ {
		leaves[i] = nothing
	}
	for k := 1; k < m.depth; k++ {
		level := m.tree[k]
		below := m.tree[k-1]
		for i := range level {
			level[i] = nothing
			if i*fan < len(below) {
				level[i] = least((*[fan]uint64)(below[i*fan:]))
			}
		}
	}
	m.steps += len(m.nodes) / fan
}

// least returns the least of a group.
func least(g *[fan]uint64) uint64 {
	a := min(g[0], g[1], g[2], g[3])
	b := min(g[4], g[5], g[6], g[7])
	c := min(g[8], g[9], g[10], g[11])
	d := min(g[12], g[13], g[14], g[15])
	return min(a, b, c, d)
}

// best returns the least leaf.
func (m *merger) best() uint64 {
	m.steps++
	g := (*[fan]uint64)(m.tree[m.depth-1])
	best := uint64(nothing)
	for i := 0; i < m.top*4; i += 4 {
		four := (*[4]uint64)(g[i:])
		best = min(best, four[0], four[1], four[2], four[3])
	}
	return best
}

// set changes the rank of a piece.
func (m *merger) set(i int32, rank uint32) {
	now := leaf(i, rank)
	old := m.tree[0][i]
	m.tree[0][i] = now
	for k := 1; k < m.depth && old != now; k++ {
		i /= fan
		node := &m.tree[k][i]
		was := *node
		switch {
		case now < was:
		case old == was:
			m.steps++
			now = least((*[fan]uint64)(m.tree[k-1][i*fan:]))
		default:
			return
		}
		*node = now
		old = was
	}
}

// A scratch is the memory one Encode works in.
type scratch struct {
	cursor pretoken.Cursor
	merger merger
	text   []byte
	best   []best // unigram
	start  bool   // the text to encode is the start of all text
	watch
}

// small reports whether a scratch may be kept for reuse.
func (sc *scratch) small() bool {
	const most = 1 << 16
	return cap(sc.text) <= 16*most && cap(sc.best) <= most && cap(sc.merger.ids) <= most
}
