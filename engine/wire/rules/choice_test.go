package rules

import (
	"math/bits"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/grammar"
)

// seeds is how many walks a test takes through one grammar: n, or eight times as many in a whole run.
func seeds(n uint64) uint64 {
	if fixtures.Whole {
		return 8 * n
	}
	return n
}

// A choice is what may come next: bytes and the special tokens behind them.
type choice struct {
	mask            []uint32
	allowed, likely []int32
}

// of returns what s allows of n tokens, and those of them that are special or in preferred.
func (c *choice) of(t *testing.T, s *grammar.State, n int, preferred string) (allowed, likely []int32) {
	t.Helper()
	if c.mask == nil {
		c.mask = make([]uint32, (n+1+31)/32)
	}
	if err := s.Mask(c.mask); err != nil {
		t.Fatal(err)
	}
	c.allowed, c.likely = c.allowed[:0], c.likely[:0]
	for k, word := range c.mask {
		for ; word != 0; word &= word - 1 {
			id := int32(k*32 + bits.TrailingZeros32(word))
			if int(id) >= n {
				break
			}
			c.allowed = append(c.allowed, id)
			if id > 255 || strings.IndexByte(preferred, byte(id)) >= 0 {
				c.likely = append(c.likely, id)
			}
		}
	}
	return c.allowed, c.likely
}
