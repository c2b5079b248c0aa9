package constrain

import (
	"fmt"
	"strings"

	"quern/engine"
	"quern/engine/grammar"
	"quern/engine/wire"
	"quern/engine/wire/rules"
)

// ReadAs is how content of a form is read.
func ReadAs(k *engine.Constraint) wire.Form {
	switch {
	case k == nil:
		return wire.FormNone
	case k.Form == engine.FormObject || k.Form == engine.FormSchema:
		return wire.FormJSON
	}
	return wire.FormText
}

// A mixedError says that replies of the form cannot be told from calls.
type mixedError struct{ opener, format string }

func (e *mixedError) Error() string {
	return fmt.Sprintf("a reply of this form may begin with %q, as calls in the wire format %q of this model do; leave it or the tools out", e.opener, e.format)
}

// apart makes sure that what stands in place of the form cannot be taken for it. Of a call
// that is an error. Thinking is given up for it: mayThink says whether it was not.
func (k *Calls) apart(c *Compiler) (mayThink bool, err error) {
	thinking, calls := rules.Openers(k.Format, k.Options)
	if ReadAs(k.Form) == wire.FormText && len(calls) > 0 && k.Format.OpensBare() {
		calls = []rules.Opener{{Texts: []string{calls[0].Texts[0][:1]}}} // whatever blanks follow
	}
	open, err := c.begins(k.Form, calls)
	if err == nil && open != "" {
		err = &mixedError{open, k.Format.Name}
	}
	if err != nil || !k.MayThink {
		return false, err
	}
	open, err = c.begins(k.Form, thinking)
	return open == "", err
}

// begins returns the spelling of an opener that a text of the form k begins with, "" if none
// does. It asks a grammar over single bytes, which every opener can be spelled with.
func (c *Compiler) begins(k *engine.Constraint, openers []rules.Opener) (string, error) {
	var g *grammar.Grammar
	for _, o := range openers {
		if o.Texts[0] == "" && k.Form != engine.FormGrammar {
			continue // only grammars can name a token
		}
		if g == nil {
			letters, err := c.letters()
			if err != nil {
				return "", err
			}
			b := grammar.NewBuilder(limits)
			root, _, err := forms[k.Form].build(c, b, k)
			if err == nil {
				g, err = b.Compile(root, letters)
			}
			if err != nil {
				return "", err
			}
		}
		if accepts(g.New(), o, int32(c.vocab.Size())) {
			return spell(o, c), nil
		}
	}
	return "", nil
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
