package grammar

// A utf8Edge leads from one place in a character to another.
type utf8Edge struct {
	lo, hi byte
	to     uint8
}

// plainEdges is the automaton of plain characters (see plainRune): state 0 is
// between characters.
var plainEdges = [...][]utf8Edge{
	0: {{' ', '!', 0}, {'#', '[', 0}, {']', '~', 0}, {0xC2, 0xDF, 1}, {0xE0, 0xE0, 4}, {0xE1, 0xEC, 2}, {0xED, 0xED, 5},
		{0xEE, 0xEF, 2}, {0xF0, 0xF0, 6}, {0xF1, 0xF3, 3}, {0xF4, 0xF4, 7}},
	1: {{0x80, 0xBF, 0}},
	2: {{0x80, 0xBF, 1}},
	3: {{0x80, 0xBF, 2}},
	4: {{0xA0, 0xBF, 1}},
	5: {{0x80, 0x9F, 1}},
	6: {{0x90, 0xBF, 2}},
	7: {{0x80, 0x8F, 2}},
}

// maxPairs bounds the search for one slice.
const maxPairs = 250

// slice returns the largest slice all of whose texts a state allows. That lexemes
// may end within them does not matter: what goes on from there is allowed anyway.
func (l *lexer) slice(s *lexState, work *int) (int, error) {
	type pair struct {
		lex *lexState
		at  uint8
	}
	seen := map[pair]bool{{s, 0}: true}
	list := []pair{{s, 0}}
	best, chars := 0, 0
	for len(list) > 0 {
		// One more byte for all of list; a character more when all are between two.
		chars++
		var level []pair
		for i := 0; i < len(list); i++ {
			p := list[i]
			for _, e := range plainEdges[p.at] {
				for b := int(e.lo); b <= int(e.hi); b++ {
					if b > int(e.lo) && l.class[b] == l.class[b-1] {
						continue
					}
					t, err := l.step(p.lex, byte(b), work)
					if err != nil {
						return 0, err
					}
					if t == l.dead {
						return best, nil
					}
					q := pair{t, e.to}
					if seen[q] {
						continue
					}
					if len(seen) >= maxPairs {
						return best, nil
					}
					seen[q] = true
					if e.to == 0 {
						level = append(level, q)
					} else {
						list = append(list, q)
					}
				}
			}
		}
		list = level
		for best+1 < sliceCount && chars >= sliceChars[best+1] {
			best++
		}
	}
	return sliceCount - 1, nil
}
