package mp3

import "sync"

// Counting what quantised lines cost in Huffman codes, and choosing the
// cheapest tables and regions for them.

// tableGroups are the tables for regions whose largest value is at most max.
// Values above 15 have the two families with linbits, 16 and 24.
var tableGroups = [7]struct {
	max    int
	tables []int
}{
	{0, []int{0}}, {1, []int{1}}, {2, []int{2, 3}}, {3, []int{5, 6}},
	{5, []int{7, 8, 9}}, {7, []int{10, 11, 12}}, {15, []int{13, 15}},
}

// lengths[t] are the bits of a pair under table t, sign bits included, at
// min(x, 15)·16 + min(y, 15); 0 where the table lacks it.
type lengths [32][256]uint8

var lengthsShared = sync.OnceValue(func() *lengths {
	l := new(lengths)
	for t, c := range codebooks {
		if t >= len(l) {
			continue
		}
		for i, n := range c.bits {
			x, y := i/c.size, i%c.size
			l[t][x<<4|y] = n + uint8(min(x, 1)+min(y, 1))
		}
	}
	return l
})

// plain are the tables that are counted: all but those that only add linbits.
var plain = [...]int{1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 24}

// coding is how the lines of a granule are split and coded.
type coding struct {
	bits      int // of the lines
	bigValues int // lines, even
	count1    int // quadruples
	quads     int // their table, 0 or 1
	tables    [3]uint8
	regions   [2]int // region0_count and region1_count
}

// counter has what counting one granule needs.
type counter struct {
	*lengths
	sums [23][32]int32 // bits of the bands before, by table
	esc  [23]int32     // values of 15 and more in the bands before
	max  [22]int       // largest value of a band
}

// group returns the index in tableGroups for values up to m; 7 and above need linbits.
func group(m int) int {
	for i, g := range tableGroups {
		if m <= g.max {
			return i
		}
	}
	return len(tableGroups)
}

// best returns the cheapest table, and its bits, for the lines between edges
// lo and hi.
func (c *counter) best(lo, hi int) (table, bits int) {
	m := 0
	for _, v := range c.max[lo:hi] {
		m = max(m, v)
	}
	if m == 0 {
		return 0, 0
	}
	bits = 1 << 30
	if g := group(m); g < len(tableGroups) {
		for _, t := range tableGroups[g].tables {
			if n := int(c.sums[hi][t] - c.sums[lo][t]); n < bits {
				table, bits = t, n
			}
		}
		return table, bits
	}
	esc := int(c.esc[hi] - c.esc[lo])
	for _, from := range [2]int{16, 24} {
		t := from
		for m-15 >= 1<<linbits[t] {
			t++
		}
		if n := int(c.sums[hi][from]-c.sums[lo][from]) + esc*int(linbits[t]); n < bits {
			table, bits = t, n
		}
	}
	return table, bits
}

// count finds the cheapest coding of ix, whose bands begin at edges (which end
// with 576). implicit is the first line of region 1, if the block type fixes it,
// else 0.
func (c *counter) count(ix *[lines]uint16, edges []int, implicit int) coding {
	var r coding
	end := lines
	for end > 0 && ix[end-1] == 0 && ix[end-2] == 0 {
		end -= 2
	}
	big := end
	for big > 0 && ix[big-1] <= 1 && ix[big-2] <= 1 {
		big -= 2
	}
	r.count1 = (end - big + 3) / 4
	if big+4*r.count1 > lines {
		big += 2
		r.count1--
	}
	r.bigValues = big

	var quads [2]int
	a := codebooks[32].bits // table B has 4 bits for all
	for i := big; i < big+4*r.count1; i += 4 {
		v := ix[i]<<3 | ix[i+1]<<2 | ix[i+2]<<1 | ix[i+3]
		ones := int(ix[i] + ix[i+1] + ix[i+2] + ix[i+3])
		quads[0] += int(a[v]) + ones
		quads[1] += 4 + ones
	}
	if quads[1] < quads[0] {
		r.quads = 1
	}
	r.bits = quads[r.quads]
	if big == 0 {
		return r
	}

	if implicit > 0 {
		edges = []int{0, implicit, lines}
	}
	// The bands, the last one cut at big.
	bands := 0
	for edges[bands] < big {
		lo, hi := edges[bands], min(edges[bands+1], big)
		c.band(ix[lo:hi], bands)
		bands++
	}
	if implicit > 0 {
		for i := range min(bands, 2) {
			t, n := c.best(i, i+1)
			r.tables[i] = uint8(t)
			r.bits += n
		}
		return r
	}
	// Region 0 has up to 16 bands, region 1 up to 8, region 2 the rest; regions 0 and 1
	// have at least one, be it beyond big.
	best := 1 << 30
	for r0 := 1; r0 <= min(bands, 16); r0++ {
		t0, n0 := c.best(0, r0)
		if n0 >= best {
			break
		}
		for r1 := 1; r1 <= 8 && r0+r1 <= 22; r1++ {
			mid := min(r0+r1, bands)
			t1, n1 := c.best(r0, mid)
			t2, n2 := c.best(mid, bands)
			if n := n0 + n1 + n2; n < best {
				best = n
				r.regions = [2]int{r0 - 1, r1 - 1}
				r.tables = [3]uint8{uint8(t0), uint8(t1), uint8(t2)}
			}
			if mid == bands {
				break
			}
		}
	}
	r.bits += best
	return r
}

// band adds band b, with values x, to the sums.
func (c *counter) band(x []uint16, b int) {
	m := uint16(0)
	for _, v := range x {
		m = max(m, v)
	}
	c.max[b] = int(m)
	from, to := &c.sums[b], &c.sums[b+1]
	*to = *from
	c.esc[b+1] = c.esc[b]
	if m == 0 {
		for _, t := range plain {
			to[t] += int32(c.lengths[t][0]) * int32(len(x)/2)
		}
		return
	}
	// Regions with this band have its group's tables or larger ones.
	first := 0
	for g := 1; g < min(group(int(m)), len(tableGroups)); g++ {
		first += len(tableGroups[g].tables)
	}
	tables := plain[first:]
	for i := 0; i+1 < len(x); i += 2 {
		p, q := x[i], x[i+1]
		if p >= 15 {
			p = 15
			c.esc[b+1]++
		}
		if q >= 15 {
			q = 15
			c.esc[b+1]++
		}
		at := (p<<4 | q) & 255
		for _, t := range tables {
			to[t] += int32(c.lengths[t][at])
		}
	}
}
