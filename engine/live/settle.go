package live

import (
	"slices"
	"strings"
)

// A settled is the text of a piece: words that were yielded, which do not change, and those
// of the latest hypothesis after them.
type settled struct {
	said []string // folded words that were yielded
	next []string // folded words of the latest hypothesis after them
}

func (s *settled) any() bool { return len(s.said) > 0 }

// agree takes a hypothesis. It returns the text that it settles, up to a word, and the text
// after that.
func (s *settled) agree(h []unit) (now []unit, tail string) {
	h = after(s.said, h)
	words := folded(h)
	n := 0
	for n < len(words) && n < len(s.next) && words[n] == s.next[n] {
		n++
	}
	cut := afterWord(h, n)
	s.said = append(s.said, words[:n]...)
	s.next = words[n:]
	var b strings.Builder
	for _, u := range h[cut:] {
		b.WriteString(u.text)
	}
	return h[:cut], b.String()
}

// finish takes the last hypothesis of the piece and returns its text after the words that were
// yielded. The next piece begins. A piece that was cut through speech may end before
// these words do: the next begins with the rest of them.
func (s *settled) finish(h []unit, through bool) []unit {
	said := s.said
	*s = settled{}
	if through {
		words := folded(h)
		_, whole := nearest(said, words)
		if n, part := nearest(words, said); part < whole {
			s.said = said[n:]
			return nil
		}
	}
	return after(said, h)
}

// folded are the words among units, without punctuation.
func folded(h []unit) (words []string) {
	for i := range h {
		if h[i].folded != "" {
			words = append(words, h[i].folded)
		}
	}
	return words
}

// afterWord is the place after the nth word.
func afterWord(h []unit, n int) int {
	if n == 0 {
		return 0
	}
	for i := range h {
		if h[i].folded != "" {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return len(h)
}

// after is the part of a hypothesis after words that were yielded, which it may spell
// differently.
func after(said []string, h []unit) []unit {
	n, _ := nearest(said, folded(h))
	return h[afterWord(h, n):]
}

// nearest returns how many of the first words are nearest to those said, and how many
// changes make the one of the other. Of equals the one that ends with the same word is
// taken, then the one nearest in length.
func nearest(said, words []string) (n, changes int) {
	if len(said) == 0 || len(words) >= len(said) && slices.Equal(said, words[:len(said)]) {
		return len(said), 0
	}
	// row[j] is how many changes make the first j words of those said so far.
	row := make([]int, len(words)+1)
	for j := range row {
		row[j] = j
	}
	for i, w := range said {
		diagonal := row[0]
		row[0] = i + 1
		for j := range words {
			cost := diagonal
			if words[j] != w {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	rank := func(j int) [3]int {
		r := [3]int{row[j], 1, max(j-len(said), len(said)-j)}
		if j > 0 && words[j-1] == said[len(said)-1] {
			r[1] = 0
		}
		return r
	}
	for j := range row {
		if a, b := rank(j), rank(n); slices.Compare(a[:], b[:]) < 0 {
			n = j
		}
	}
	return n, row[n]
}
