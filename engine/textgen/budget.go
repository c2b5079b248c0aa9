package textgen

import (
	"context"
	"fmt"
	"strings"

	"quern/engine"
	"quern/engine/sample"
	"quern/engine/token"
)

// A limit bounds the thinking of a reply: when its tokens are used up, it forces the tokens that
// end thinking. It is a Mask, since only a Mask can force tokens.
type limit struct {
	parser  parser      // follows the reply
	inner   sample.Mask // the reply's own mask; nil is none
	after   func() sample.Mask
	closing []token.ID

	tokens int        // of thinking there may be
	broken int        // tokens it waited for the end of a character
	forced []token.ID // the next tokens, in order
	words  []uint32
}

// maxBroken bounds the wait for the end of a character: no longer one has more bytes.
const maxBroken = 4

// A limiter makes the limits of replies to one prompt.
type limiter struct {
	format  *answerFormat
	vocab   *token.Vocab
	tokens  int
	closing []token.ID
	inner   func() sample.Mask // nil is nothing
	after   func() sample.Mask // instead of inner, behind closing; nil goes on with inner
}

// mask is the limit of one reply.
func (b *limiter) mask() sample.Mask {
	l := &limit{
		parser: b.format.newParser(b.vocab), after: b.after, closing: b.closing,
		tokens: b.tokens, words: make([]uint32, (b.vocab.Size()+31)/32),
	}
	if b.inner != nil {
		l.inner = b.inner()
	}
	l.look()
	return l
}

// left is how many tokens of thinking there may still be, where the reply is inside it.
func (l *limit) left() int { return l.tokens - l.parser.thought - len(l.parser.waiting) }

// look forces the end of thinking if the budget is used up.
func (l *limit) look() {
	inside, whole := l.parser.reader.Thinking()
	if !inside || l.left() > 0 {
		return
	}
	if !whole && l.broken < maxBroken {
		l.broken++
		return
	}
	l.forced, l.broken = l.closing, 0
}

// Bits implements sample.Mask.
func (l *limit) Bits() ([]uint32, error) {
	if len(l.forced) == 0 && l.inner != nil {
		return l.inner.Bits()
	}
	clear(l.words)
	if len(l.forced) > 0 {
		l.words[l.forced[0]>>5] |= 1 << (l.forced[0] & 31)
		return l.words, nil
	}
	for i := range l.words {
		l.words[i] = ^uint32(0)
	}
	return l.words, nil
}

// Allows implements sample.Mask.
func (l *limit) Allows(id token.ID) bool {
	if len(l.forced) > 0 {
		return id == l.forced[0]
	}
	return l.inner == nil || l.inner.Allows(id)
}

// Forced implements sample.Mask: the tokens that end thinking, and else those that the reply's own
// mask forces, unless they use up the rest of the budget. Where they are inside
// thinking and too many for it, none is forced.
func (l *limit) Forced(dst, before []token.ID) []token.ID {
	if len(l.forced) > 0 {
		return append(dst, l.forced...)
	}
	if l.inner == nil {
		return dst
	}
	ids := l.inner.Forced(dst, before)
	if inside, _ := l.parser.reader.Thinking(); inside && len(ids)-len(dst) > l.left() {
		return dst
	}
	return ids
}

// Accept implements sample.Mask.
func (l *limit) Accept(id token.ID) error {
	forced := len(l.forced) > 0
	if forced && id != l.forced[0] {
		return fmt.Errorf("textgen: token %d where thinking has to end", id)
	}
	if l.inner != nil && !(forced && l.after != nil) {
		if err := l.inner.Accept(id); err != nil {
			return err
		}
	}
	l.parser.follow(id)
	if !forced {
		l.look()
		return nil
	}
	if l.forced = l.forced[1:]; len(l.forced) == 0 && l.after != nil {
		l.inner, l.after = l.after(), nil
	}
	return nil
}

// MayEnd implements sample.Mask.
func (l *limit) MayEnd() bool {
	return len(l.forced) == 0 && (l.inner == nil || l.inner.MayEnd())
}

// Ended implements sample.Mask.
func (l *limit) Ended() bool {
	return len(l.forced) == 0 && l.inner != nil && l.inner.Ended()
}

// limited returns a function that makes the masks of replies that think no longer than r allows;
// mask, if not nil, makes their own masks.
func (l *answerFormat) limited(ctx context.Context, m *Model, r *engine.GenerateRequest, mask func() sample.Mask) (func() sample.Mask, error) {
	f := l.symbols.syntax.Format
	b := &limiter{format: l, vocab: m.Vocab, inner: mask}
	switch {
	case r.ReasoningBudget != nil:
		b.tokens = r.ReasoningBudget.Tokens
	case f.Channel == nil || l.mayThink || mask != nil:
		return mask, nil // only headers cannot be kept from thinking by the prompt, nor by a grammar
	}
	if f.Channel != nil && mask != nil {
		after := *l
		after.thinking, after.mayThink = false, false
		var err error
		if b.after, err = after.constrain(ctx, m, r); err != nil {
			return nil, err
		}
	}
	text := f.EndThinking(b.after != nil, func(text string) bool {
		id, ok := l.symbols.ids[text]
		return ok && m.Vocab.Ends(id)
	})
	if text == "" {
		return mask, nil // the format has no end of thinking
	}
	b.closing = m.Vocab.Encode(nil, text, true)
	switch k := r.ReasoningBudget; {
	case l.symbols.spells(m.Vocab, b.closing, text):
		return b.mask, nil
	case k == nil || k.Param == "":
		return mask, nil
	default:
		return nil, engine.Errorf(engine.CodeUnsupportedParam, k.Param, "%s: the tokenizer of model %q cannot write %q, which ends thinking; leave it out", k.Param, m.ID, text)
	}
}

// spells reports whether tokens are read as a text, with blanks before it or none, and its
// markers as the tokens they are.
func (s *symbols) spells(v *token.Vocab, ids []token.ID, text string) bool {
	var b strings.Builder
	for _, id := range ids {
		if spelling, ok := s.spellings[id]; ok {
			b.WriteString(spelling)
			continue
		}
		b.Write(v.Bytes(id))
	}
	return strings.TrimLeft(b.String(), " ") == strings.TrimLeft(text, " ")
}
