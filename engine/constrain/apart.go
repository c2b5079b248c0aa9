package constrain

import (
	"fmt"
	"strings"

	"quern/engine"
	"quern/engine/grammar"
	"quern/engine/wire"
	"quern/engine/wire/rules"
)

// ReadAs is the wire form as which content of a constraint is parsed.
func ReadAs(k *engine.Constraint) wire.Form {
	switch {
	case k == nil:
		return wire.FormNone
	case k.Form == engine.FormObject || k.Form == engine.FormSchema:
		return wire.FormJSON
	}
	return wire.FormText
}

// A mixedError says that replies of the form cannot be distinguished from calls.
type mixedError struct{ opener, format string }

func (e *mixedError) Error() string {
	return fmt.Sprintf("a reply of this form may begin with %q, as calls in the wire format %q of this model do; leave it or the tools out", e.opener, e.format)
}

// apart checks that no text of the form begins as a call or thinking does. With a call
// that is an error. Thinking is not allowed then: mayThink reports whether it is.
func (k *Calls) apart(c *Compiler) (mayThink bool, err error) {
	thinking, calls := rules.Openers(k.Format, k.Options)
	if ReadAs(k.Form) == wire.FormText && len(calls) > 0 && k.Format.OpensBare() {
		calls = []rules.Opener{{Texts: []string{calls[0].Texts[0][:1]}}} // whatever blanks follow
	}
	f := &firsts{c: c, k: k.Form}
	open, err := f.begins(calls)
	if err == nil && open != "" {
		err = &mixedError{open, k.Format.Name}
	}
	if err != nil || !k.MayThink {
		return false, err
	}
	open, err = f.begins(thinking)
	return open == "", err
}

// firsts are the beginnings of texts of a form. It asks a grammar over single bytes, which every
// opener can be spelled with, and makes that when it has to.
type firsts struct {
	c *Compiler
	k *engine.Constraint
	g *grammar.Grammar
}

// begins returns the spelling of an opener that a text of the form may begin with, "" if there
// is none.
func (f *firsts) begins(openers []rules.Opener) (string, error) {
	for _, o := range openers {
		if !f.mayBegin(o) {
			continue
		}
		if f.g == nil {
			letters, err := f.c.letters()
			if err != nil {
				return "", err
			}
			b := grammar.NewBuilder(limits)
			root, _, err := forms[f.k.Form].build(f.c, b, f.k)
			if err == nil {
				f.g, err = b.Compile(root, letters)
			}
			if err != nil {
				return "", err
			}
		}
		if accepts(f.g.New(), o, int32(f.c.vocab.Size())) {
			return spell(o, f.c), nil
		}
	}
	return "", nil
}

// mayBegin reports whether an opener has to be checked: only grammars can name a token, and values of
// JSON begin with few bytes.
func (f *firsts) mayBegin(o rules.Opener) bool {
	switch {
	case f.k.Form == engine.FormGrammar:
		return true
	case o.Texts[0] == "":
		return false
	}
	return ReadAs(f.k) != wire.FormJSON || strings.IndexByte(`{["-0123456789tfn`, o.Texts[0][0]) >= 0
}

// accepts reports whether a text may begin with an opener. letters is the token of the byte 0.
func accepts(s *grammar.State, o rules.Opener, letters int32) bool {
	for i, text := range o.Texts {
		for j := range len(text) {
			if s.Accept(letters+int32(text[j])) != nil {
				return false
			}
		}
		if i < len(o.Tokens) && s.Accept(o.Tokens[i]) != nil {
			return false
		}
	}
	return true
}

// spell is an opener as text.
func spell(o rules.Opener, c *Compiler) string {
	var b strings.Builder
	for i, text := range o.Texts {
		b.WriteString(text)
		if i < len(o.Tokens) {
			b.WriteString(c.vocab.Text(o.Tokens[i]))
		}
	}
	return b.String()
}

// letters is a vocabulary of every token as a symbol, and of the bytes behind them.
func (c *Compiler) letters() (*grammar.Trie, error) {
	n := c.vocab.Size()
	v := grammar.Vocab{Bytes: make([][]byte, n, n+256), EOG: c.vocab.Ending()}
	for id := range int32(n) {
		v.Special = append(v.Special, id)
	}
	for b := range 256 {
		v.Bytes = append(v.Bytes, []byte{byte(b)})
	}
	return grammar.NewTrie(v)
}
