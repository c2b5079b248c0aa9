package aac

import (
	"math"
	"sync"
)

const (
	lookupBits = 9
	maxCode    = 19 // bits of the longest code, one of the scalefactors

	escape = 16 // the value of book 11 that says a longer one follows

	scaleZero = 100 // the scalefactor that scales by one
)

// A code is what a lookup finds: the length of a code and what it stands for.
type code struct {
	len    uint8   // 0: the code is longer than lookupBits
	signs  uint8   // sign bits that follow, one for each value but 0
	values [4]int8 // of a spectral book
	symbol uint8   // of the scalefactor book
}

// A lookup decodes one codebook: short codes with one access, the few long ones
// by trying their lengths.
type lookup struct {
	short [1 << lookupBits]code
	long  []code // every code, in the order of the codes

	// By length: the first code, and the place of it in long.
	first [maxCode + 2]int
	index [maxCode + 2]int
}

func newLookup(b *codebook, describe func(symbol int) code) *lookup {
	t := &lookup{}
	at, next := 0, 0
	for i, n := range b.counts {
		l := i + 1
		t.first[l], t.index[l] = next, at
		for range int(n) {
			c := describe(int(b.symbols[at]))
			c.len = uint8(l)
			t.long = append(t.long, c)
			if l <= lookupBits {
				from := next << (lookupBits - l)
				for j := range 1 << (lookupBits - l) {
					t.short[from+j] = c
				}
			}
			at, next = at+1, next+1
		}
		next <<= 1
	}
	for l := len(b.counts) + 1; l < len(t.index); l++ {
		t.index[l] = at
	}
	return t
}

// find returns the code that w, a window of the stream, begins with.
func (t *lookup) find(w uint64) *code {
	if c := &t.short[w>>(64-lookupBits)]; c.len != 0 {
		return c
	}
	for l := lookupBits + 1; ; l++ {
		// The code is of this length unless it lies beyond the last one. Since
		// the codes are complete, one of the lengths fits.
		if i := t.index[l] + int(w>>(64-l)) - t.first[l]; i < t.index[l+1] {
			return &t.long[i]
		}
	}
}

// A bookShape is how a symbol of a spectral book becomes values.
type bookShape struct {
	values int // 4 or 2
	base   int
	offset int // subtracted from each digit
	signed bool
}

// shapes of books 1 to 11. ISO/IEC 14496-3, table 4.151.
var shapes = [11]bookShape{
	{4, 3, 1, true},
	{4, 3, 1, true},
	{4, 3, 0, false},
	{4, 3, 0, false},
	{2, 9, 4, true},
	{2, 9, 4, true},
	{2, 8, 0, false},
	{2, 8, 0, false},
	{2, 13, 0, false},
	{2, 13, 0, false},
	{2, 17, 0, false},
}

// zero is the symbol of zeros.
func (s bookShape) zero() int {
	symbol := 0
	for range s.values {
		symbol = symbol*s.base + s.offset
	}
	return symbol
}

func (s bookShape) describe(symbol int) code {
	var c code
	for i := s.values - 1; i >= 0; i-- {
		v := symbol%s.base - s.offset
		symbol /= s.base
		c.values[i] = int8(v)
		if !s.signed && v != 0 {
			c.signs++
		}
	}
	return c
}

// tables are what every decoder reads and none changes.
type tables struct {
	scale    *lookup
	spectral [11]*lookup
	power    [maxQuantum + maxPulses + 1]float32 // i^(4/3)
	gain     [256]float32                        // of scalefactor i
}

const (
	maxQuantum = 8191   // the largest magnitude of a quantised coefficient
	maxPulses  = 4 * 15 // and what pulses can add to it
)

var shared = sync.OnceValue(func() *tables {
	t := &tables{}
	t.scale = newLookup(&scaleBook, func(s int) code { return code{symbol: uint8(s)} })
	for i := range t.spectral {
		t.spectral[i] = newLookup(&spectralBooks[i], shapes[i].describe)
	}
	for i := range t.power {
		t.power[i] = float32(math.Pow(float64(i), 4.0/3))
	}
	for i := range t.gain {
		t.gain[i] = float32(math.Exp2(float64(i-scaleZero) / 4))
	}
	return t
})
