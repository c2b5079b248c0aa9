package tts

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
)

// More is what follows of a text that is spoken while it is written.
type More struct {
	Text  string
	Haste Haste // once Text is there
}

// Haste says how soon a text is spoken that has come so far. What is heard is the same as
// of a text that comes at once, but where the haste is more than Patient.
type Haste int

// Kinds of haste.
const (
	Patient   Haste = iota // once nothing that follows can change how it is said
	Sentences              // whole sentences at once
	Clauses                // whole clauses at once
	Flush                  // all of it: what follows is another text
)

// A growing text is read while it comes.
type growing struct {
	p     *Pronouncer
	as    Text // Text is what something unspoken may depend on
	limit int
	more  func(context.Context) (More, error) // nil: no more comes

	language string // of what was read last

	base  int // bytes of the whole text before as.Text
	said  int // units of as.Text that were spoken
	last  int // where the last of them begins in the whole text
	parts int // those of them that begin there: a number has several; 0 when none was spoken
	open  int // bytes of the whole text before what may still become a formula or a link
	tried int // bytes of as.Text when nothing of it was settled
	haste Haste
	ended bool
}

// wait takes more of the text; false says that there is none.
func (g *growing) wait(ctx context.Context) (bool, error) {
	if g.ended {
		return false, nil
	}
	m, err := g.more(ctx)
	if g.ended = errors.Is(err, io.EOF); err != nil && !g.ended {
		return false, err
	}
	if g.haste == Flush {
		g.base, g.said, g.parts, g.tried = g.base+len(g.as.Text), 0, 0, 0
		g.as.Text = ""
	}
	g.as.Text += m.Text
	g.haste = m.Haste
	return true, nil
}

// whole reports whether what has come is spoken as if it were all.
func (g *growing) whole() bool { return g.ended || g.haste == Flush }

// end is how many bytes of the whole text have come.
func (g *growing) end() int { return g.base + len(g.as.Text) }

// cut returns where the text of the units that were spoken ends and that of the others begins:
// behind what is written on to the last of those, and space. units are in places of the whole.
func (g *growing) cut(units []unit) int {
	if g.said == len(units) {
		return g.end()
	}
	from := units[g.said-1].end - g.base
	between := g.as.Text[from:max(from, min(units[g.said].start, g.open)-g.base)]
	if k := strings.IndexFunc(between, unicode.IsSpace); k >= 0 {
		between = between[:len(between)-len(strings.TrimLeftFunc(between[k:], unicode.IsSpace))]
		return g.base + from + len(between)
	}
	return g.base + from
}

// due reports whether there is something to be read: a text of which nothing could be
// spoken has to have grown, so that reading it again and again takes no more than time in
// proportion.
func (g *growing) due() bool {
	if g.whole() || g.as.Text == "" {
		return g.as.Text != ""
	}
	return !g.as.SSML && (g.haste != Patient || len(g.as.Text)-g.tried > g.tried/16)
}

// read returns what has come, of which g.said units were spoken. known are there whatever
// follows, and how the first sure of them are said is, too.
func (g *growing) read(ctx context.Context) (units []unit, known, sure int, err error) {
	as, shift := g.as, g.base
	if as.SSML && g.more != nil && !IsSSML(as.Text) {
		if strings.TrimSpace(as.Text) == "" {
			return nil, 0, 0, nil
		}
		const open, shut = "<speak>", "</speak>"
		as.Text = open + as.Text + shut
		shift -= len(open)
	}
	if units, g.language, err = g.p.units(ctx, as, g.limit); err != nil {
		return nil, 0, 0, err
	}
	text := g.as.Text
	open := len(text)
	if !g.whole() {
		open = g2p.Unclosed(text)
	}
	g.open = g.base + open
	switch {
	case g.whole():
		known, sure = len(units), len(units)
	case g.haste == Patient:
		g.tried = len(text)
		known = beginning(units, min(lastWords(text, 2), open))
		sure = max(ended(units[:known]), beginning(units, min(lastWords(text, 8), open)))
	default:
		known = hasty(units[:beginning(units, open)], text, g.haste)
		sure = known
	}
	for i := range units {
		u := &units[i]
		u.start, u.end = max(u.start+shift, g.base), min(u.end+shift, g.end())
	}
	g.said = g.spoken(units)
	return units, known, sure, nil
}

// spoken returns how many units were spoken. What stands before unspoken text may be read as more
// units or fewer than when it was spoken, as what came before it is forgotten.
func (g *growing) spoken(units []unit) int {
	if g.parts == 0 {
		return 0
	}
	n := 0
	for n < len(units) && units[n].start < g.last {
		n++
	}
	for end := min(n+g.parts, len(units)); n < end && units[n].start == g.last; {
		n++
	}
	return n
}

// speak notes that n units more are spoken.
func (g *growing) speak(units []unit, n int) {
	g.said += n
	g.last, g.parts = units[g.said-1].start, 0
	for i := g.said; i > 0 && units[i-1].start == g.last; i-- {
		g.parts++
	}
}

// lastWords returns where the last n words of text begin behind which a space stands; 0
// where there are fewer.
func lastWords(text string, n int) int {
	text = strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
	for range n {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
		text = strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
	}
	return len(text)
}

// beginning returns how many units end in the first so many bytes.
func beginning(units []unit, bytes int) int {
	if i := slices.IndexFunc(units, func(u unit) bool { return u.end > bytes }); i >= 0 {
		return i
	}
	return len(units)
}

// ended returns how many units there are up to the last mark that words are not read
// across.
func ended(units []unit) int {
	for i := len(units); i > 0; i-- {
		if u := &units[i-1]; u.pause > 0 || slices.Contains(ends, u.mark) || slices.Contains(clauses[0], u.mark) || slices.Contains(clauses[1], u.mark) {
			return i
		}
	}
	return 0
}

// hasty returns how many units make whole sentences, or clauses. A space stands behind
// them, or, behind a clause, nothing.
func hasty(units []unit, text string, h Haste) int {
	for n := len(units); n > 0; {
		if n = ended(units[:n]); n == 0 {
			break
		}
		from := n - 1
		for n < len(units) && slices.Contains(closing, units[n].mark) {
			n++
		}
		next, size := utf8.DecodeRuneInString(text[min(units[n-1].end, len(text)):])
		if u := &units[from]; (u.pause > 0 || h == Clauses || slices.Contains(ends, u.mark)) && (unicode.IsSpace(next) || size == 0 && h == Clauses) {
			return n
		}
		n = from
	}
	return 0
}

// These are how much text is kept: of which nothing can be spoken, and behind a quotation
// mark that was not closed.
const (
	mostSilent = 1000
	mostQuoted = 4000
	// mostUnended is the same of a sentence, but for some words before what is unspoken.
	mostUnended = 1500
	wordsBefore = 16
)

// forget gives up what nothing unspoken depends on: the sentences before the last spoken
// one. units are those of the text, in places of the whole.
func (g *growing) forget(units []unit) {
	if len(units) == 0 && len(g.as.Text) > mostSilent && !g.whole() {
		g.drop(strings.LastIndexFunc(g.as.Text, unicode.IsSpace) + 1)
		return
	}
	begin, last := 0, 0 // units that sentences begin with
	for at := 0; at < g.said; at += sentence(units[at:]) {
		begin, last = last, at
	}
	if begin == 0 && len(g.as.Text) > mostUnended {
		begin = max(0, g.said-wordsBefore)
		for begin > 0 && units[begin].start <= units[begin-1].start { // parts of one number
			begin--
		}
	}
	// Mid-line, what is read otherwise at the beginning of one (a quotation, an item's number) keeps a word before it.
	for k := 0; begin > 0 && k < wordsBefore && g.beginsLine(units, begin); k++ {
		begin--
	}
	if begin == 0 {
		return
	}
	cut := units[begin].start - g.base
	if strings.Count(g.as.Text[:cut], `"`)%2 != 0 && len(g.as.Text) < mostQuoted {
		return // a quotation goes on
	}
	g.drop(cut)
	g.said -= begin
}

// beginsLine reports whether unit i would begin a line if what stands before it were dropped, does not yet, and is no
// plain word, or a part of what the unit before it is written with.
func (g *growing) beginsLine(units []unit, i int) bool {
	at := units[i].start - g.base
	if units[i].start <= units[i-1].start {
		return true
	}
	if r, _ := utf8.DecodeRuneInString(g.as.Text[at:]); unicode.IsLetter(r) {
		return false
	}
	before := strings.TrimRight(g.as.Text[:at], " \t")
	return before != "" && !strings.HasSuffix(before, "\n")
}

// drop takes the first n bytes off the text.
func (g *growing) drop(n int) {
	g.as.Text = g.as.Text[n:]
	g.base += n
	g.tried = 0
}
