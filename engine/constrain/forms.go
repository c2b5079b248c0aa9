package constrain

import (
	"errors"
	"fmt"

	"quern/engine"
	"quern/engine/grammar"
	"quern/engine/grammar/gbnf"
	"quern/engine/grammar/regex"
	"quern/engine/grammar/schema"
	"quern/engine/token"
)

// A form is how the grammars of an engine.Form are made.
type form struct {
	code  engine.Code // of errors
	what  string      // Source, for people
	most  int         // bytes of Source
	build func(c *Compiler, b *grammar.Builder, k *engine.Constraint) (root *grammar.Node, notes []string, err error)
}

// maxSource is the most bytes of a source or of all choices.
const maxSource = 1 << 20

var forms = map[engine.Form]form{
	engine.FormObject:  {engine.CodeInvalidSchema, "form", 0, object},
	engine.FormSchema:  {engine.CodeInvalidSchema, "schema", maxSource, ofSchema},
	engine.FormGrammar: {engine.CodeInvalidGrammar, "grammar", gbnf.MaxBytes, ofGrammar},
	engine.FormRegex:   {engine.CodeInvalidGrammar, "regular expression", regex.MaxBytes, ofRegex},
	engine.FormChoice:  {engine.CodeInvalidGrammar, "choices", maxSource, ofChoice},
}

// check refuses a constraint of an unknown form or above its size, before it is read.
func check(k *engine.Constraint) error {
	f, ok := forms[k.Form]
	if !ok {
		return engine.Errorf(engine.CodeInvalidGrammar, k.Param, "%s: a constraint of the form %q is not known", k.Param, k.Form)
	}
	n := len(k.Source)
	for _, c := range k.Choices {
		n += len(c)
	}
	switch {
	case n > f.most:
		return engine.Errorf(f.code, k.Param, "%s: the %s has %d bytes, at most %d are supported; make it smaller", k.Param, f.what, n, f.most)
	case k.Form == engine.FormChoice && len(k.Choices) == 0:
		return engine.Errorf(f.code, k.Param, "%s must have at least one entry", k.Param)
	}
	return nil
}

func object(_ *Compiler, b *grammar.Builder, _ *engine.Constraint) (*grammar.Node, []string, error) {
	return schema.AddObject(b, "object"), nil, nil
}

func ofSchema(_ *Compiler, b *grammar.Builder, k *engine.Constraint) (*grammar.Node, []string, error) {
	return schema.Add(b, []byte(k.Source), schema.Options{Strict: k.Strict, Limits: limits})
}

func ofGrammar(c *Compiler, b *grammar.Builder, k *engine.Constraint) (*grammar.Node, []string, error) {
	root, err := gbnf.Parse(b, k.Source, gbnf.Options{Token: func(text string) (token.ID, bool) { return c.vocab.Lookup(text) }})
	return root, nil, err
}

func ofRegex(_ *Compiler, b *grammar.Builder, k *engine.Constraint) (*grammar.Node, []string, error) {
	r, err := regex.Parse(k.Source, regex.Options{})
	if err != nil {
		return nil, nil, err
	}
	return b.Lexeme(r), nil, nil
}

func ofChoice(_ *Compiler, b *grammar.Builder, k *engine.Constraint) (*grammar.Node, []string, error) {
	return b.Choice(k.Choices...), nil, nil
}

// maxPointer and maxReason bound the bytes of a JSON Pointer and of a reason in an error, which
// contain text of the client's.
const maxPointer, maxReason = 200, 400

// refusal is the error that clients get of an error of build.
func refusal(k *engine.Constraint, err error) error {
	if _, ok := errors.AsType[*panicError](err); ok {
		return engine.Errorf(engine.CodeEngineFailure, k.Param, "the %s could not be compiled", forms[k.Form].what).Because(err)
	}
	out := &engine.Error{Code: forms[k.Form].code, Param: k.Param, Err: err}
	reason := err.Error()
	var s *schema.Error
	var m *mixedError
	switch {
	case errors.As(err, &m):
		out.Code = engine.CodeToolFormat
	case errors.As(err, &s):
		out.Param += cut(s.Pointer, maxPointer)
		reason = s.Reason
		if s.Keyword != "" {
			reason = fmt.Sprintf("%s (keyword %s)", reason, s.Keyword)
		}
	case errors.Is(err, grammar.ErrNothing):
		reason = "no reply can match the " + forms[k.Form].what
	}
	out.Message = out.Param + ": " + cut(reason, maxReason)
	return out
}

// cut shortens s to at most so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most-- // in the middle of a character
	}
	return s[:most] + "…"
}

// A panicError is a panic of the compiler.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Failure returns the error that clients get if a reply under k has ended with err, or nil if
// err is not of a constraint. k is the client's; nil is one of calls.
func Failure(err error, k *engine.Constraint) error {
	var l *grammar.LimitError
	if !errors.As(err, &l) {
		return nil
	}
	code, param := engine.CodeEngineFailure, ""
	if k != nil {
		code, param = forms[k.Form].code, k.Param
	}
	return engine.Errorf(code, param, "the reply could not be held to its form any longer: more than %d %s; make the schema or grammar simpler", l.Max, l.Name).Because(err)
}
