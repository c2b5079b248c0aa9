package grammar

import (
	"errors"
	"fmt"
	"slices"
)

// ErrToken says that a token does not fit, ErrEnded that the text has ended.
var (
	ErrToken = errors.New("grammar: the token does not fit")
	ErrEnded = errors.New("grammar: the text has ended")
)

// A State is a sequence's place in its Grammar. It is not safe for concurrent use;
// States of one Grammar may be used at the same time. When a limit is passed, every
// method says so from then on, and nothing is allowed; Rollback does not mend it.
type State struct {
	recogniser
	threads []thread // of all marks, one after the other
	marks   []mark   // the beginning, and after each token
	err     error

	sources []source
	visits  []visit // of the mask that is being made
	levels  []mark  // of walks, by depth
	forced  []byte
}

// A thread is a lexeme, or several that began together, of which at least one byte
// has been read.
type thread struct {
	row int32 // in which it began
	lex *lexState
}

// A mark is a place between two bytes: the threads that are alive, and the row
// that their ends lead to.
type mark struct {
	lo, hi int32 // threads
	rows   int32 // how many there were
	head   int32 // row, unknown, or none
	ended  bool
}

const (
	none    = -1
	unknown = -2
)

// New returns the State of a text that has not begun.
func (g *Grammar) New() *State {
	s := &State{recogniser: newRecogniser(g)}
	var m mark
	m.head, s.err = s.first()
	m.rows = int32(len(s.rows))
	s.marks = append(s.marks, m)
	return s
}

// Err returns the limit that was passed, if any.
func (s *State) Err() error { return s.err }

// Tokens returns how many tokens were accepted.
func (s *State) Tokens() int { return len(s.marks) - 1 }

func (s *State) now() *mark { return &s.marks[len(s.marks)-1] }

// fail keeps an error for good.
func (s *State) fail(err error) error {
	if s.err == nil {
		s.err = err
	}
	return s.err
}

// head returns the row that the ends of m's threads lead to, or none.
func (s *State) head(m *mark) (int32, error) {
	if m.head == unknown {
		s.sources = s.ends(s.sources[:0], m)
		if err := s.lead(m); err != nil {
			return none, err
		}
	}
	return m.head, nil
}

func (s *State) ends(to []source, m *mark) []source {
	for _, t := range s.threads[m.lo:m.hi] {
		if t.lex.ends != nil {
			to = append(to, source{row: t.row, ends: t.lex.ends})
		}
	}
	return to
}

// lead makes the row behind s.sources the head of m.
func (s *State) lead(m *mark) error {
	m.head = none
	if len(s.sources) > 0 {
		row, err := s.scan(s.sources)
		if err != nil {
			return s.fail(err)
		}
		m.head = row
		m.rows = int32(len(s.rows))
	}
	return nil
}

// step reads a byte after m. The threads of the result lie at the end of s.threads.
func (s *State) step(m *mark, b byte) (mark, error) {
	if m.head == unknown {
		for _, t := range s.threads[m.lo:m.hi] {
			if t.lex.ends != nil && t.lex.ends.follow.has(b) {
				if _, err := s.head(m); err != nil {
					return mark{}, err
				}
				break
			}
		}
	}
	to := mark{lo: int32(len(s.threads)), head: unknown}
	for i := m.lo; i < m.hi; i++ {
		if err := s.grow(to.lo, s.threads[i], b); err != nil {
			return mark{}, err
		}
	}
	if m.head >= 0 {
		if err := s.grow(to.lo, thread{m.head, s.rows[m.head].begin}, b); err != nil {
			return mark{}, err
		}
	}
	s.work += 1 + int(m.hi-m.lo)/4
	if s.work > s.g.limits.Work {
		return mark{}, s.fail(&LimitError{workName, s.g.limits.Work})
	}
	to.hi, to.rows = int32(len(s.threads)), int32(len(s.rows))
	return to, nil
}

// grow appends what becomes of t with one more byte to the threads from lo on.
func (s *State) grow(lo int32, t thread, b byte) error {
	if t.lex == s.g.lex.dead {
		return nil
	}
	lex, err := s.g.lex.step(t.lex, b, &s.work)
	if err != nil {
		return s.fail(err)
	}
	t.lex = lex
	if lex == s.g.lex.dead || slices.Contains(s.threads[lo:], t) {
		return nil
	}
	if len(s.threads)-int(lo) >= s.g.limits.Threads {
		return s.fail(&LimitError{"places at once (an ambiguous grammar)", s.g.limits.Threads})
	}
	s.threads = append(s.threads, t)
	return nil
}

// try reads a token after m; the result has neither threads nor head if it does not
// fit. The caller drops what was pushed.
func (s *State) try(m *mark, id int32) (mark, error) {
	g := s.g
	s.work = 0
	_, symbol := slices.BinarySearch(g.atoms, id)
	if symbol {
		if _, err := s.head(m); err != nil {
			return mark{}, err
		}
	}
	to := mark{lo: m.hi, hi: m.hi, head: none, rows: m.rows}
	if text := g.trie.text[id]; text != nil {
		at, from := to, m
		for _, b := range text {
			next, err := s.step(from, b)
			if err != nil {
				return to, err
			}
			if next.lo == next.hi {
				at = to
				break
			}
			at, from = next, &at
		}
		to = at
	}
	if symbol && m.head >= 0 && s.rows[m.head].tokens {
		s.sources = append(s.ends(s.sources[:0], &to), source{row: m.head, token: id})
		before := to
		if err := s.lead(&to); err != nil {
			return to, err
		}
		if row := &s.rows[to.head]; to.lo == to.hi && row.lo == row.hi && !row.final {
			to = before // the token is a symbol, but not here
			to.head = none
		}
	}
	return to, nil
}

func (m *mark) empty() bool { return m.lo == m.hi && m.head == none }

// Accept moves on by one token. A token that does not fit is an error that wraps
// ErrToken, and changes nothing.
func (s *State) Accept(id int32) error {
	m := s.now()
	if err := s.check(id); err != nil {
		return err
	}
	if m.ended {
		return ErrEnded
	}
	if slices.Contains(s.g.trie.eog, id) {
		if !s.MayEnd() {
			return s.barred(id)
		}
		s.marks = append(s.marks, mark{lo: m.hi, hi: m.hi, head: none, rows: m.rows, ended: true})
		return nil
	}
	to, err := s.try(m, id)
	if err != nil {
		return err
	}
	if to.empty() {
		s.drop(m)
		return s.barred(id)
	}
	// Threads of the places within the token are not needed any more.
	n := copy(s.threads[m.hi:], s.threads[to.lo:to.hi])
	to.lo, to.hi = m.hi, m.hi+int32(n)
	to.rows = int32(len(s.rows))
	s.threads = s.threads[:to.hi]
	s.marks = append(s.marks, to)
	return nil
}

func (s *State) barred(id int32) error {
	if s.err != nil {
		return s.err
	}
	return fmt.Errorf("%w: %d (%q)", ErrToken, id, s.g.trie.text[id])
}

func (s *State) check(id int32) error {
	if s.err != nil {
		return s.err
	}
	if id < 0 || int(id) >= s.g.trie.Tokens() {
		return fmt.Errorf("%w: %d is not in a vocabulary of %d", ErrToken, id, s.g.trie.Tokens())
	}
	return nil
}

// drop forgets what was pushed after m.
func (s *State) drop(m *mark) {
	s.threads = s.threads[:m.hi]
	s.truncate(m.rows)
}

// Allows reports whether Accept would take the token. It costs its bytes only.
func (s *State) Allows(id int32) bool {
	m := s.now()
	if s.check(id) != nil || m.ended {
		return false
	}
	if slices.Contains(s.g.trie.eog, id) {
		return s.MayEnd()
	}
	to, err := s.try(m, id)
	s.drop(m)
	return err == nil && !to.empty()
}

// MayEnd reports whether the text fits the grammar as it is.
func (s *State) MayEnd() bool {
	if s.err != nil {
		return false
	}
	m := s.now()
	s.work = 0
	head, err := s.head(m)
	return err == nil && (m.ended || head >= 0 && s.rows[head].final)
}

// maxForced bounds what Forced looks ahead.
const maxForced = 1 << 12

// Forced returns bytes that must come next, as far as they are certain and no more
// than 4096: none if the text may end here or a special token may come. They are
// valid until the next call.
func (s *State) Forced() []byte {
	s.forced = s.forced[:0]
	m := s.now()
	if s.err != nil || m.ended {
		return nil
	}
	at := *m
	for len(s.forced) < maxForced {
		s.work = 0
		head, err := s.head(&at)
		if err != nil {
			return nil
		}
		only := int16(onlyNone)
		if head >= 0 {
			row := &s.rows[head]
			if row.final || row.tokens {
				break
			}
			only, err = s.g.lex.only(row.begin, &s.work)
		}
		for i := at.lo; i < at.hi && err == nil; i++ {
			var o int16
			if o, err = s.g.lex.only(s.threads[i].lex, &s.work); only == onlyNone {
				only = o
			} else if o != onlyNone && o != only {
				only = onlyMany
			}
		}
		if err != nil {
			s.fail(err)
			return nil
		}
		if only < 0 {
			break
		}
		if at, err = s.step(&at, byte(only)); err != nil {
			return nil
		}
		s.forced = append(s.forced, byte(only))
	}
	s.drop(m)
	return s.forced
}

// Rollback takes back the last n tokens.
func (s *State) Rollback(n int) {
	if n < 0 || n > s.Tokens() {
		panic(fmt.Sprintf("grammar: Rollback of %d tokens of %d", n, s.Tokens()))
	}
	s.marks = s.marks[:len(s.marks)-n]
	s.drop(s.now())
}
