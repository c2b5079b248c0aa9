package graphone

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// least is how often an n-gram of 1, 2, 3, 4 and 5 graphones has to occur to be
// kept.
var least = [order]int{1, 1, 2, 2, 2}

const rounds = 6 // of expectation maximisation

// Train counts the n-grams of the pairs, aligned by expectation maximisation.
// Pairs with other letters than a to z, and those no alignment fits, are left
// out. Equal pairs give equal models.
func Train(pairs []Pair) *Model {
	words := prepare(pairs)
	cost := align(words)
	return count(words, cost)
}

type sample struct {
	word  string
	units []uint8
	names *[]string
}

// prepare numbers the phonemes.
func prepare(pairs []Pair) []sample {
	names := []string{""}
	ids := map[string]uint8{}
	var out []sample
	for _, p := range pairs {
		if len(p.Word) == 0 || len(p.Word) > maxLen || strings.Trim(p.Word, "abcdefghijklmnopqrstuvwxyz") != "" {
			continue
		}
		s := sample{word: p.Word, names: &names}
		for _, u := range Units(p.Phones) {
			id, ok := ids[u]
			if !ok {
				if len(names) == 128 {
					panic("graphone: more than 127 different phonemes")
				}
				id = uint8(len(names))
				ids[u] = id
				names = append(names, u)
			}
			s.units = append(s.units, id)
		}
		if len(s.units) > 0 && len(s.units) <= chunk*len(s.word) {
			out = append(out, s)
		}
	}
	return out
}

// Units splits phonemes: a stress mark stays with the symbol after it.
func Units(phones string) []string {
	var out []string
	for len(phones) > 0 {
		r, n := utf8.DecodeRuneInString(phones)
		if r == 'ˈ' || r == 'ˌ' {
			_, k := utf8.DecodeRuneInString(phones[n:])
			n += k
		}
		out = append(out, phones[:n])
		phones = phones[n:]
	}
	return out
}

// key packs a letter and up to three phonemes.
func key(letter byte, units []uint8) uint32 {
	k := uint32(letter-'a') + 1
	for _, u := range units {
		k = k<<7 | uint32(u)
	}
	return k | uint32(len(units))<<30
}

// align returns minus the logarithm of each pair's probability.
func align(words []sample) map[uint32]float64 {
	// The first guess favours one phoneme a letter.
	guess := [chunk + 1]float64{0.2, 1, 0.1, 0.005}
	var prob map[uint32]float64
	at := func(letter byte, units []uint8) float64 {
		if prob == nil {
			return guess[len(units)]
		}
		return prob[key(letter, units)]
	}
	for range rounds {
		counts := map[uint32]float64{}
		for _, w := range words {
			expect(w, at, counts)
		}
		var totals [27]float64
		for _, k := range slices.Sorted(maps.Keys(counts)) {
			totals[letterOf(k)] += counts[k]
		}
		next := make(map[uint32]float64, len(counts))
		for k, c := range counts {
			if c > 0.5 { // rarer pairs are slips of the dictionary
				next[k] = c / totals[letterOf(k)]
			}
		}
		prob = next
	}
	for k, p := range prob {
		prob[k] = -math.Log(p)
	}
	return prob
}

func letterOf(k uint32) int {
	n := k >> 30
	return int(k & (1<<30 - 1) >> (7 * n))
}

// expect adds the expected number of uses of each pair in w to counts.
func expect(w sample, at func(byte, []uint8) float64, counts map[uint32]float64) {
	n, m := len(w.word), len(w.units)
	fore := make([]float64, (n+1)*(m+1))
	back := make([]float64, (n+1)*(m+1))
	p := make([]float64, n*(m+1)*(chunk+1))
	fore[0], back[n*(m+1)+m] = 1, 1
	for i := range n {
		for j := 0; j <= m; j++ {
			if fore[i*(m+1)+j] == 0 {
				continue
			}
			for k := 0; k <= chunk && j+k <= m; k++ {
				q := at(w.word[i], w.units[j:j+k])
				p[(i*(m+1)+j)*(chunk+1)+k] = q
				fore[(i+1)*(m+1)+j+k] += fore[i*(m+1)+j] * q
			}
		}
	}
	whole := fore[n*(m+1)+m]
	if whole == 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		for j := 0; j <= m; j++ {
			for k := 0; k <= chunk && j+k <= m; k++ {
				use := p[(i*(m+1)+j)*(chunk+1)+k] * back[(i+1)*(m+1)+j+k]
				back[i*(m+1)+j] += use
				if c := fore[i*(m+1)+j] * use / whole; c > 1e-6 {
					counts[key(w.word[i], w.units[j:j+k])] += c
				}
			}
		}
	}
}

// best returns the likeliest alignment of w: phonemes of each letter.
func best(w sample, cost map[uint32]float64) []uint32 {
	n, m := len(w.word), len(w.units)
	sum := make([]float64, (n+1)*(m+1))
	took := make([]int8, (n+1)*(m+1))
	for i := range sum {
		sum[i] = math.Inf(1)
	}
	sum[0] = 0
	for i := range n {
		for j := 0; j <= m; j++ {
			s := sum[i*(m+1)+j]
			for k := 0; k <= chunk && j+k <= m && !math.IsInf(s, 1); k++ {
				c, ok := cost[key(w.word[i], w.units[j:j+k])]
				if to := (i+1)*(m+1) + j + k; ok && s+c < sum[to] {
					sum[to], took[to] = s+c, int8(k)
				}
			}
		}
	}
	if math.IsInf(sum[n*(m+1)+m], 1) {
		return nil
	}
	out := make([]uint32, n)
	j := m
	for i := n; i > 0; i-- {
		k := int(took[i*(m+1)+j])
		out[i-1] = key(w.word[i-1], w.units[j-k:j])
		j -= k
	}
	return out
}

// count makes the model of the aligned words. Histories shorter than the
// longest count in how many contexts a graphone occurs, not how often (Kneser
// & Ney, 1995).
func count(words []sample, cost map[uint32]float64) *Model {
	seen := map[uint32]int{}
	var lines [][]uint32
	for _, w := range words {
		if line := best(w, cost); line != nil {
			lines = append(lines, line)
			for _, k := range line {
				seen[k]++
			}
		}
	}
	var keys []uint32
	for k, n := range seen {
		if n > 2 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b uint32) int { return cmp.Or(cmp.Compare(letterOf(a), letterOf(b)), cmp.Compare(a, b)) })
	m := &Model{letter: []byte{0}, phones: []string{""}}
	ids := map[uint32]uint16{}
	for _, k := range keys {
		ids[k] = uint16(len(m.letter))
		m.letter = append(m.letter, byte(letterOf(k)))
		var name strings.Builder
		for i := int(k>>30) - 1; i >= 0; i-- {
			name.WriteString((*words[0].names)[k>>(7*i)&127])
		}
		m.phones = append(m.phones, name.String())
	}
	m.index()

	var grams [order]map[gram]int
	for n := range grams {
		grams[n] = map[gram]int{}
	}
next:
	for _, line := range lines {
		// Graphones are shifted by one, so that zero pads.
		seq := []uint16{1}
		for _, k := range line {
			id, ok := ids[k]
			if !ok {
				continue next
			}
			seq = append(seq, id+1)
		}
		seq = append(seq, 1)
		for i := 1; i < len(seq); i++ {
			for n := 1; n <= order && n <= i+1; n++ {
				var g gram
				copy(g[:], seq[i-n+1:i+1])
				grams[n-1][g]++
			}
		}
	}
	root := &tree{}
	for n := order; n >= 1; n-- {
		use := grams[n-1]
		kept := use
		if n < order {
			// An n-gram at the start of a word has no longer one: its count stays.
			use = map[gram]int{}
			for g := range grams[n] {
				var tail gram
				copy(tail[:], g[1:])
				use[tail]++
			}
			for g, c := range kept {
				if g[0] == 1 && n > 1 {
					use[g] = c
				}
			}
		}
		for g, c := range use {
			t := root
			for _, s := range g[:n-1] {
				t = t.at(s - 1)
			}
			if kept[g] < least[n-1] {
				t.rest += c
				continue
			}
			t.at(g[n-1] - 1).count = c
		}
	}
	m.flatten(root)
	return m
}

type gram [order]uint16

// A tree is a model while it is counted.
type tree struct {
	count, rest int // rest: counts of the children that were pruned
	kids        map[uint16]*tree
}

func (t *tree) at(g uint16) *tree {
	if t.kids == nil {
		t.kids = map[uint16]*tree{}
	}
	k := t.kids[g]
	if k == nil {
		k = &tree{}
		t.kids[g] = k
	}
	return k
}
