// Package draft has the implementations of sched.Drafter.
package draft

import (
	"context"

	"quern/engine/sched"
	"quern/engine/token"
)

// Lookup drafts the tokens that followed the last ones where they stood before: in the prompt, in
// the reply, or in the request's prediction. Code that is edited, quotes and
// lists repeat themselves.
//
// Of each text it keeps where pairs of tokens stood last, and of each such place the one
// before, as Lempel and Ziv's window is searched in deflate (RFC 1951, section 4). A token
// takes constant time and no memory but its place in a window.
type Lookup struct {
	texts  []text
	window int // tokens of a text that are known, a power of two
}

// Bounds of a search.
const (
	longest    = 1 << 17 // window
	candidates = 16      // places looked at
	enough     = 32      // tokens alike; no longer match is looked for
	opening    = 16      // tokens of a reply that may follow its prediction from the beginning
)

// NewLookup returns a Lookup for so many places, with texts of up to context tokens.
func NewLookup(places, context int) *Lookup {
	l := &Lookup{texts: make([]text, places), window: 256}
	for l.window < min(context, longest) {
		l.window *= 2
	}
	return l
}

// A text is the index of one: of its prediction, and behind it all its tokens.
type text struct {
	head []int32 // by pair of tokens: the place behind it where it stood last, 0 for none
	prev []int32 // by place, in the window: the one before of the same pair
	read int     // tokens
	from int     // where the last draft offered begins
}

// at is token i of prediction and tokens.
func at(t *sched.Text, i int) token.ID {
	if n := len(t.Prediction); i >= n {
		return t.Tokens[i-n]
	}
	return t.Prediction[i]
}

func pair(a, b token.ID) uint32 {
	return (uint32(a)*0x9e3779b1 ^ uint32(b)) * 0x85ebca77
}

// Offer implements sched.Drafter. It ranks by the tokens that are alike.
func (l *Lookup) Offer(place int, t sched.Text, n int) (tokens, rank int) {
	x := &l.texts[place]
	if x.head == nil {
		x.head, x.prev = make([]int32, l.window), make([]int32, l.window)
	}
	x.index(&t)
	from, alike := x.find(&t)
	if reply := t.Tokens[t.Prompt:]; alike < enough && len(reply) <= min(opening, len(t.Prediction)-1) && begins(t.Prediction, reply) {
		from, alike = len(reply), opening/2
	}
	if x.from = from; from == 0 {
		return 0, 0
	}
	switch {
	case alike > 8:
		rank = 3
	case alike > 4:
		rank = 2
	case alike > 2:
		rank = 1
	}
	return n, rank
}

func begins(text, with []token.ID) bool {
	for i, id := range with {
		if text[i] != id {
			return false
		}
	}
	return true
}

// index reads on to the end of the text. Place p is behind the pair p-2, p-1.
func (x *text) index(t *sched.Text) {
	n := len(t.Prediction) + len(t.Tokens)
	for p := max(x.read+1, 2, n-len(x.prev)+1); p <= n; p++ {
		h := &x.head[pair(at(t, p-2), at(t, p-1))%uint32(len(x.head))]
		x.prev[p&(len(x.prev)-1)], *h = *h, int32(p)
	}
	x.read = n
}

// find returns the place before the end with most tokens alike before it, the last of
// several; 0 if there are not even two.
func (x *text) find(t *sched.Text) (from, alike int) {
	n := x.read
	if n < 2 {
		return 0, 0
	}
	p := n
	for range candidates {
		next := int(x.prev[p&(len(x.prev)-1)])
		if next <= 0 || next >= p || n-next >= len(x.prev) {
			break // entries outside the window may have been overwritten
		}
		p = next
		k := 0
		for k < min(p, enough) && at(t, p-1-k) == at(t, n-1-k) {
			k++
		}
		if k > alike && k >= 2 {
			from, alike = p, k
		}
		if alike == enough {
			break
		}
	}
	return from, alike
}

// Draft implements sched.Drafter. A draft that reaches the end of the text continues with
// its own tokens: the repetition goes on.
func (l *Lookup) Draft(_ context.Context, asks []sched.Ask) error {
	for i := range asks {
		a := &asks[i]
		x := &l.texts[a.Place]
		for k := range a.N {
			id := token.None
			if p := x.from + k; p < x.read {
				id = at(&a.Text, p)
			} else {
				id = a.Draft[p-x.read]
			}
			a.Draft = append(a.Draft, id)
		}
	}
	return nil
}

// Forget implements sched.Drafter.
func (l *Lookup) Forget(place int) {
	x := &l.texts[place]
	clear(x.head)
	x.read, x.from = 0, 0
}
