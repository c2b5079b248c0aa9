package grammar

import "slices"

// A Regex is a regular expression over bytes, and means the set of strings it
// matches whole. It is immutable and may be part of many others: what is shared
// is compiled once. Text is UTF-8; Chars and AnyChar are the UTF-8 forms of
// characters, so an expression made of them never matches broken UTF-8.
type Regex struct {
	op       regexOp
	nullable bool
	deep     int    // longest way down
	lit      string // opLit
	chars    RuneSet
	bytes    byteSpan
	min, max int // opRepeat; max < 0 has no end
	kids     []*Regex
	table    *Automaton // opTable
}

type regexOp uint8

const (
	opNothing regexOp = iota // no string at all
	opLit
	opChars
	opBytes
	opConcat
	opOr
	opAnd
	opNot
	opRepeat
	opTable
)

// Unbounded is the max of a repetition without end.
const Unbounded = -1

func regex(r Regex) *Regex {
	for _, k := range r.kids {
		r.deep = max(r.deep, k.deep)
	}
	r.deep++
	return &r
}

// Nothing matches no string.
func Nothing() *Regex { return regex(Regex{op: opNothing}) }

// Lit matches s, byte by byte. Lit("") is the empty string.
func Lit(s string) *Regex { return regex(Regex{op: opLit, lit: s, nullable: s == ""}) }

// Chars matches one character of the set, in UTF-8.
func Chars(set RuneSet) *Regex { return regex(Regex{op: opChars, chars: set}) }

// AnyChar matches any one character.
func AnyChar() *Regex { return Chars(AllRunes()) }

// Bytes matches one byte from lo to hi.
func Bytes(lo, hi byte) *Regex { return regex(Regex{op: opBytes, bytes: byteSpan{lo, hi}}) }

// AnyByte matches any one byte.
func AnyByte() *Regex { return Bytes(0, 255) }

// Concat matches the parts one after the other; nothing at all is the empty string.
func Concat(parts ...*Regex) *Regex {
	if len(parts) == 1 {
		return parts[0]
	}
	return regex(Regex{op: opConcat, kids: slices.Clone(parts),
		nullable: !slices.ContainsFunc(parts, func(r *Regex) bool { return !r.nullable })})
}

// Or matches what any of the alternatives matches.
func Or(alternatives ...*Regex) *Regex {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return regex(Regex{op: opOr, kids: slices.Clone(alternatives),
		nullable: slices.ContainsFunc(alternatives, (*Regex).Nullable)})
}

// And matches what every one of the parts matches. Without any it matches every
// string of bytes.
func And(parts ...*Regex) *Regex {
	if len(parts) == 1 {
		return parts[0]
	}
	return regex(Regex{op: opAnd, kids: slices.Clone(parts),
		nullable: !slices.ContainsFunc(parts, func(r *Regex) bool { return !r.nullable })})
}

// Not matches every string of bytes that r does not match, broken UTF-8 too:
// bound it by And where that matters.
func Not(r *Regex) *Regex {
	return regex(Regex{op: opNot, kids: []*Regex{r}, nullable: !r.nullable})
}

// maxRepeat bounds counts, which are kept in 32 bits; no text is so long.
const maxRepeat = 1 << 30

// Repeat matches r from min to max times; max may be Unbounded. Counts above 2^30
// are taken as 2^30.
func Repeat(r *Regex, min, max int) *Regex {
	if max != Unbounded && max < min || min < 0 {
		return Nothing()
	}
	min, max = clampRepeat(min, max)
	return regex(Regex{op: opRepeat, kids: []*Regex{r}, min: min, max: max, nullable: min == 0 || r.nullable})
}

func clampRepeat(lo, hi int) (int, int) { return min(lo, maxRepeat), min(hi, maxRepeat) }

// Star, Plus and Opt are Repeat from 0, from 1, and up to 1.
func Star(r *Regex) *Regex { return Repeat(r, 0, Unbounded) }
func Plus(r *Regex) *Regex { return Repeat(r, 1, Unbounded) }
func Opt(r *Regex) *Regex  { return Repeat(r, 0, 1) }

// Nullable reports whether r matches the empty string.
func (r *Regex) Nullable() bool { return r.nullable }
