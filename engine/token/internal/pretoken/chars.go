package pretoken

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A charTable sorts characters into the classes that the patterns of a
// pre-tokenizer tell apart, numbered from 1. It has two levels, like
// classTable.
type charTable struct {
	n     int // Classes and the end of text
	ascii [utf8.RuneSelf]uint8
	index [(unicode.MaxRune + 1) / 256]uint16
	pages [][256]uint8
	blank []bool            // by class: white space
	sets  map[string][]bool // by key of a set: the classes in it
}

// bit is the place of a class in a word. Classes beyond 63 share it, so that
// "may be there" stays true.
func bit(class int) uint64 { return 1 << (class & 63) }

// ranges returns the characters an instruction matches, as pairs.
func ranges(in *syntax.Inst) []rune {
	switch in.Op {
	case syntax.InstRuneAny:
		return []rune{0, unicode.MaxRune}
	case syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	case syntax.InstRune, syntax.InstRune1:
		if len(in.Rune) != 1 {
			return in.Rune
		}
		r := in.Rune[0]
		list := []rune{r, r}
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				list = append(list, f, f)
			}
		}
		return list
	}
	return nil
}

// key names a set.
func key(list []rune) string {
	b := make([]byte, 0, 4*len(list))
	for _, r := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
	}
	return string(b)
}

// newCharTable finds the classes that the sets in progs, and white space,
// divide all characters into.
func newCharTable(progs []*syntax.Prog) (*charTable, error) {
	t := &charTable{sets: make(map[string][]bool)}
	// An edge is where a set begins or ends.
	type edge struct {
		at  rune
		set int
	}
	var edges []edge
	var names []string
	add := func(list []rune) {
		name := key(list)
		if _, ok := t.sets[name]; ok {
			return
		}
		t.sets[name] = nil
		for i := 0; i < len(list); i += 2 {
			edges = append(edges, edge{list[i], len(names)}, edge{list[i+1] + 1, len(names)})
		}
		names = append(names, name)
	}
	var blanks []rune
	for _, r := range unicode.White_Space.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			blanks = append(blanks, c, c)
		}
	}
	add(blanks)
	for _, p := range progs {
		for i := range p.Inst {
			if list := ranges(&p.Inst[i]); list != nil {
				add(list)
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })

	flat := make([]uint8, unicode.MaxRune+1)
	in := make([]bool, len(names))
	classes := make(map[string]uint8)
	member := make([]byte, len(names))
	var members [][]bool
	for i, at := 0, rune(0); at <= unicode.MaxRune; {
		for ; i < len(edges) && edges[i].at == at; i++ {
			in[edges[i].set] = !in[edges[i].set]
		}
		end := rune(unicode.MaxRune + 1)
		if i < len(edges) {
			end = edges[i].at
		}
		for k, x := range in {
			member[k] = 0
			if x {
				member[k] = 1
			}
		}
		class, ok := classes[string(member)]
		if !ok {
			if len(classes) == 254 {
				return nil, fmt.Errorf("%w: patterns that tell more than 254 classes of characters apart", ErrUnsupported)
			}
			class = uint8(len(classes) + 1)
			classes[string(member)] = class
			members = append(members, slices.Clone(in))
		}
		run := flat[at:end]
		for k := range run {
			run[k] = class
		}
		at = end
	}
	t.n = len(classes) + 1
	for k, name := range names {
		set := make([]bool, t.n)
		for class, in := range members {
			set[class+1] = in[k]
		}
		t.sets[name] = set
	}
	t.blank = t.sets[names[0]]
	copy(t.ascii[:], flat)
	seen := make(map[[256]uint8]uint16)
	for i := range t.index {
		page := [256]uint8(flat[i*256:])
		at, ok := seen[page]
		if !ok {
			at = uint16(len(t.pages))
			seen[page] = at
			t.pages = append(t.pages, page)
		}
		t.index[i] = at
	}
	return t, nil
}

func (t *charTable) of(r rune) uint8 { return t.pages[t.index[uint32(r)>>8]][uint8(r)] }

// at returns the class and width of the character at s[i:], which is not
// empty. A byte that is no UTF-8 counts as U+FFFD.
func (t *charTable) at(s string, i int) (uint8, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return t.ascii[b], 1
	}
	return t.wide(s, i)
}

// wide is at for what is not ASCII.
func (t *charTable) wide(s string, i int) (uint8, int) {
	r, w := Decode(s, i)
	return t.of(r), w
}

// Decode returns the character at s[i:], which is not ASCII. The usual lengths
// are quick.
func Decode[T string | []byte](s T, i int) (rune, int) {
	if i+2 < len(s) {
		a, b, c := s[i], s[i+1], s[i+2]
		switch {
		case a >= 0xE1 && a <= 0xEC && b&0xC0 == 0x80 && c&0xC0 == 0x80:
			return rune(a&15)<<12 | rune(b&63)<<6 | rune(c&63), 3
		case a >= 0xC2 && a <= 0xDF && b&0xC0 == 0x80:
			return rune(a&31)<<6 | rune(b&63), 2
		}
	}
	return utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
}
