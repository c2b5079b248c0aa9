package graphone

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrFormat is wrapped by every error about a damaged model.
var ErrFormat = errors.New("graphone: malformed model")

// A model file is a list of graphones (letter, length, phonemes) and the tree of
// n-grams, breadth first, in four columns: number of children, pruned count,
// step to the next graphone, count. Numbers are varints.

// index notes where each letter's graphones begin.
func (m *Model) index() {
	for l := range m.first {
		i, _ := slices.BinarySearch(m.letter, byte(l))
		m.first[l] = int32(i)
	}
}

// flatten lays the tree out breadth first.
func (m *Model) flatten(root *tree) {
	m.nodes = []node{{}}
	queue := []*tree{root}
	for i := 0; i < len(queue); i++ {
		t := queue[i]
		gs := slices.Sorted(maps.Keys(t.kids))
		m.nodes[i].n, m.nodes[i].child = uint16(len(gs)), int32(len(m.nodes))
		m.nodes[i].total = float32(t.rest)
		for _, g := range gs {
			m.nodes = append(m.nodes, node{g: g, count: float32(t.kids[g].count)})
			queue = append(queue, t.kids[g])
		}
	}
	m.weigh()
}

// weigh turns total, which holds the pruned count, into the sum of all.
func (m *Model) weigh() {
	for i := range m.nodes {
		n := &m.nodes[i]
		var sum, kept float32
		for _, k := range m.nodes[n.child : int(n.child)+int(n.n)] {
			sum += k.count
			kept += max(k.count-discount, 0)
		}
		n.total += sum
		if n.total > 0 {
			n.back = 1 - kept/n.total
		}
	}
}

// Bytes returns the model as Parse reads it, uncompressed.
func (m *Model) Bytes() []byte {
	out := binary.AppendUvarint(nil, uint64(len(m.letter)))
	for g, l := range m.letter {
		out = append(out, l, byte(len(m.phones[g])))
		out = append(out, m.phones[g]...)
	}
	var cols [4][]byte
	put := func(c int, v float32) { cols[c] = binary.AppendUvarint(cols[c], uint64(v)) }
	for i := range m.nodes {
		n := &m.nodes[i]
		put(0, float32(n.n))
		if n.n == 0 {
			continue
		}
		rest, last := n.total, uint16(0)
		for _, k := range m.nodes[n.child : int(n.child)+int(n.n)] {
			put(2, float32(k.g-last))
			put(3, k.count)
			last = k.g
			rest -= k.count
		}
		put(1, rest)
	}
	out = binary.AppendUvarint(out, uint64(len(m.nodes)))
	for _, c := range cols {
		out = binary.AppendUvarint(out, uint64(len(c)))
		out = append(out, c...)
	}
	return out
}

// column reads varints; after the end it gives zeros and remembers.
type column struct {
	data []byte
	bad  bool
}

func (c *column) next() int {
	v, n := binary.Uvarint(c.data)
	if n <= 0 || v > 1<<30 {
		c.bad = true
		return 0
	}
	c.data = c.data[n:]
	return int(v)
}

func (c *column) bytes(n int) []byte {
	if n > len(c.data) {
		c.bad = true
		return nil
	}
	out := c.data[:n]
	c.data = c.data[n:]
	return out
}

// Parse reads what Bytes wrote. Its error wraps ErrFormat.
func Parse(data []byte) (*Model, error) {
	c := &column{data: data}
	m := &Model{}
	n := c.next()
	if n > len(c.data)/2 || n > 1<<16-1 || n < 1 {
		return nil, fmt.Errorf("%w: %d graphones", ErrFormat, n)
	}
	for range n {
		h := c.bytes(2)
		if h == nil || h[0] > 26 {
			return nil, fmt.Errorf("%w: graphone without a letter", ErrFormat)
		}
		m.letter = append(m.letter, h[0])
		m.phones = append(m.phones, string(c.bytes(int(h[1]))))
	}
	if c.bad || m.letter[0] != 0 || !slices.IsSortedFunc(m.letter, cmp.Compare[byte]) {
		return nil, fmt.Errorf("%w: graphones out of order", ErrFormat)
	}
	m.index()
	nodes := c.next()
	if nodes < 1 || nodes > len(c.data) {
		return nil, fmt.Errorf("%w: %d n-grams in %d bytes", ErrFormat, nodes, len(c.data))
	}
	var cols [4]column
	for i := range cols {
		cols[i].data = c.bytes(c.next())
	}
	if c.bad {
		return nil, fmt.Errorf("%w: truncated", ErrFormat)
	}
	m.nodes = make([]node, 1, nodes)
	for i := 0; i < len(m.nodes); i++ {
		kids := cols[0].next()
		if kids > nodes-len(m.nodes) || kids > n {
			return nil, fmt.Errorf("%w: too many n-grams", ErrFormat)
		}
		m.nodes[i].n, m.nodes[i].child = uint16(kids), int32(len(m.nodes))
		if kids == 0 {
			continue
		}
		m.nodes[i].total = float32(cols[1].next())
		g := 0
		for range kids {
			if g += cols[2].next(); g >= n {
				return nil, fmt.Errorf("%w: no graphone %d", ErrFormat, g)
			}
			m.nodes = append(m.nodes, node{g: uint16(g), count: float32(cols[3].next())})
		}
	}
	for _, col := range cols {
		if col.bad || len(col.data) > 0 {
			return nil, fmt.Errorf("%w: columns of unequal length", ErrFormat)
		}
	}
	if len(m.nodes) != nodes {
		return nil, fmt.Errorf("%w: %d n-grams where %d were said", ErrFormat, len(m.nodes), nodes)
	}
	m.weigh()
	return m, nil
}
