package pretoken

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// A dfa is a regular expression of a pre-tokenizer as a table: one look-up for
// each character. Of the matches that start at one place it finds the one that
// a backtracking engine would: alternatives are tried in order, repetitions
// are greedy.
//
// A match shows one character late, at the character after it, so that
// (?!\S) and the end of text need nothing special.
//
// Cox, "Regular Expression Matching in the Wild", 2010.
type dfa struct {
	chars *charTable
	// next is indexed by state + class. States are multiples of the number
	// of classes. State 0 is dead. Those up to hits are entered where a match
	// has just ended, and the first of them, over, is dead too.
	next    []uint32
	start   uint32
	over    uint32
	hits    uint32
	begins  uint64    // Classes a match may begin with, as bits
	skip    [256]bool // ASCII characters that no match begins with
	matters uint64    // every match has a character of these classes
}

const (
	// maxStates bounds a table: 16 times that of the largest known pattern.
	maxStates = 1 << 14
	maxRegex  = 16 << 10 // bytes of a pattern
)

// endOfText is the class of what follows the last character.
const endOfText = 0

// newDFAs compiles patterns of Go's syntax that share one table of classes.
// (?m:$) stands for (?!\S): Go's syntax has no look-ahead.
func newDFAs(patterns []string) ([]*dfa, error) {
	progs := make([]*syntax.Prog, len(patterns))
	for i, text := range patterns {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("%w: the pattern %.100q of a pre-tokenizer: %v", ErrUnsupported, text, err)
		}
		if progs[i], err = syntax.Compile(re.Simplify()); err != nil {
			return nil, fmt.Errorf("%w: the pattern %.100q of a pre-tokenizer: %v", ErrUnsupported, text, err)
		}
	}
	chars, err := newCharTable(progs)
	if err != nil {
		return nil, err
	}
	list := make([]*dfa, len(progs))
	for i, p := range progs {
		if list[i], err = chars.compile(p); err != nil {
			return nil, fmt.Errorf("%w: the pattern %.100q of a pre-tokenizer: %w", ErrUnsupported, patterns[i], err)
		}
	}
	return list, nil
}

// A builder makes the states of one pattern. A state is a list of places in
// the program, in order of preference.
type dfaBuilder struct {
	chars *charTable
	prog  *syntax.Prog
	sets  [][]bool // by place: the classes it takes
	known map[string]int
	lists [][]uint32
	rows  [][]step
	seen  []uint32 // by place: when it was last reached
	now   uint32
}

// A step is where a class leads: a state, and whether a match ended before.
type step struct {
	to  int
	hit bool
}

func (t *charTable) compile(prog *syntax.Prog) (*dfa, error) {
	b := &dfaBuilder{chars: t, prog: prog, known: map[string]int{"": 0}, seen: make([]uint32, len(prog.Inst))}
	for i := range prog.Inst {
		b.sets = append(b.sets, t.sets[key(ranges(&prog.Inst[i]))])
	}
	b.lists = append(b.lists, nil)
	b.state([]uint32{uint32(prog.Start)})
	for i := 0; i < len(b.lists); i++ {
		row := make([]step, t.n)
		for class := range row {
			row[class] = b.step(b.lists[i], class)
		}
		b.rows = append(b.rows, row)
		if len(b.lists) > maxStates {
			return nil, fmt.Errorf("it needs more than %d states", maxStates)
		}
	}
	return b.table(), nil
}

// state numbers a list of places.
func (b *dfaBuilder) state(list []uint32) int {
	key := make([]byte, 0, 4*len(list))
	for _, pc := range list {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if n, ok := b.known[string(key)]; ok {
		return n
	}
	b.known[string(key)] = len(b.lists)
	b.lists = append(b.lists, list)
	return len(b.lists) - 1
}

// step follows a list of places over one character.
func (b *dfaBuilder) step(list []uint32, class int) step {
	b.now++
	visited := b.now
	var to []uint32
	over := false
	var follow func(pc uint32)
	follow = func(pc uint32) {
		if over || b.seen[pc] == visited {
			return
		}
		b.seen[pc] = visited
		in := &b.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			follow(in.Out)
			follow(in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			follow(in.Out)
		case syntax.InstEmptyWidth:
			switch syntax.EmptyOp(in.Arg) {
			case syntax.EmptyEndText:
				if class == endOfText {
					follow(in.Out)
				}
			case syntax.EmptyEndLine:
				if class == endOfText || b.chars.blank[class] {
					follow(in.Out)
				}
			}
		case syntax.InstMatch:
			over = true // what follows is preferred less
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if b.sets[pc][class] && !slices.Contains(to, in.Out) {
				to = append(to, in.Out)
			}
		}
	}
	for _, pc := range list {
		follow(pc)
	}
	return step{b.state(to), over}
}

// table lays the states out. One that is entered both with and without a match
// behind it becomes two.
func (b *dfaBuilder) table() *dfa {
	n := uint32(b.chars.n)
	place := map[step]uint32{{0, false}: 0, {0, true}: n}
	order := []step{{0, false}, {0, true}}
	for _, hit := range []bool{true, false} {
		add := func(s step) {
			if _, ok := place[s]; !ok && s.hit == hit {
				place[s] = uint32(len(order)) * n
				order = append(order, s)
			}
		}
		add(step{1, false})
		for _, row := range b.rows {
			for _, s := range row {
				add(s)
			}
		}
		if hit {
			b.now = uint32(len(order)-1) * n
		}
	}
	d := &dfa{chars: b.chars, over: n, hits: b.now, start: place[step{1, false}]}
	d.next = make([]uint32, 0, len(order)*int(n))
	for _, from := range order {
		for _, to := range b.rows[from.to] {
			d.next = append(d.next, place[to])
		}
	}
	for class, s := range b.rows[1] {
		if s.to != 0 {
			d.begins |= bit(class)
		}
	}
	for c := range utf8.RuneSelf {
		d.skip[c] = d.begins&bit(int(b.chars.ascii[c])) == 0
	}
	d.matters = d.needed()
	return d
}

// needed returns classes of which every match has one: the rest of a largest
// set of classes that no match can be spelled with.
func (d *dfa) needed() uint64 {
	var idle uint64
	for class := 1; class < d.chars.n; class++ {
		try := idle | bit(class)
		if !d.spells(try) {
			idle = try
		}
	}
	return ^idle
}

// spells reports whether there are matches of the given classes alone, with
// anything after them.
func (d *dfa) spells(classes uint64) bool {
	seen := map[uint32]bool{d.start: true}
	for queue := []uint32{d.start}; len(queue) > 0; queue = queue[1:] {
		row := d.next[queue[0] : queue[0]+uint32(d.chars.n)]
		for class, to := range row {
			if to != 0 && to <= d.hits {
				return true
			}
			if class != endOfText && classes&bit(class) != 0 && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return false
}

// A hopeless remembers a stretch of text in which a dfa stayed in one state
// and after which no match ended. A later attempt that comes into that state
// there need not go on, which keeps patterns that look far ahead linear.
type hopeless struct {
	state    uint32
	from, to int
}

// farAhead is how many bytes beyond a match an attempt may read before it is
// worth remembering.
const farAhead = 32

// match returns the end of the match at s[i:], i if there is none, and the
// Classes in it.
func (d *dfa) match(s string, i int, h *hopeless, steps *int) (end int, classes uint64) {
	from := i
	end = i
	next, chars, hits, over := d.next, d.chars, d.hits, d.over
	state := d.start
	var all uint64
	for stride := 8; ; stride *= 2 {
		stop := min(len(s), i+stride)
		for i < stop {
			var class uint8
			w := 1
			if b := s[i]; b < utf8.RuneSelf {
				class = chars.ascii[b]
			} else {
				class, w = chars.wide(s, i)
			}
			state = next[state+uint32(class)]
			if state <= hits {
				if state != 0 {
					end, classes = i, all
				}
				if state <= over {
					*steps += i - from + 1
					if i-end > farAhead {
						d.remember(s, from, i, end, h)
					}
					return end, classes
				}
			}
			all |= 1 << (class & 63)
			i += w
		}
		if i >= len(s) {
			break
		}
		if state == h.state && h.from <= i && i < h.to {
			*steps += i - from
			return end, classes
		}
	}
	*steps += i - from + 1
	if state = next[state]; state != 0 && state <= hits {
		return i, all
	}
	if i-end > farAhead {
		d.remember(s, from, i, end, h)
	}
	return end, classes
}

// remember notes the last state of an attempt that read s[from:to], whose
// match ended at end, and where it came into it.
func (d *dfa) remember(s string, from, to, end int, h *hopeless) {
	state := d.start
	since := from
	for i := from; i < to; {
		class, w := d.chars.at(s, i)
		next := d.next[state+uint32(class)]
		i += w
		if next != state {
			state, since = next, i
		}
	}
	*h = hopeless{state, max(since, end+1), to}
}
