package constrain

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"quern/engine"
	"quern/engine/grammar"
	"quern/engine/grammar/schema"
	"quern/engine/wire"
	"quern/engine/wire/rules"
)

// Calls are the replies of a model that may think or call tools: thinking, words and calls
// as its wire format has them.
type Calls struct {
	Format *wire.Format
	rules.Options
	Places []Place            // of Options.Tools
	Form   *engine.Constraint // of the words, nil where they are free
}

// A Place is the request field of a tool's schema, and whether all of it must be enforced.
type Place struct {
	Param  string
	Strict bool
}

// Calls makes the grammar of k, or finds one it made before, as Compile does. The
// Token of all that is asked of one Compiler is the same.
//
// Errors: those of ctx, or an *engine.Error that says what to change, with the code
// engine.CodeToolFormat where the format cannot be held to anything.
func (c *Compiler) Calls(ctx context.Context, k *Calls) (*Grammar, error) {
	n := 0
	for _, t := range k.Tools {
		n += len(t.Parameters)
	}
	if n > maxSource {
		return nil, engine.Errorf(engine.CodeInvalidSchema, "tools", "tools: the schemas have %d bytes, at most %d are supported; make them smaller", n, maxSource)
	}
	if k.Form != nil {
		if err := check(k.Form); err != nil {
			return nil, err
		}
	}
	e, err := c.entry(ctx, k.key(), func(b *grammar.Builder, g *Grammar) (*grammar.Node, error) { return k.build(c, b, g) })
	if err != nil {
		return nil, err
	}
	if e.err != nil {
		return nil, k.refusal(e.err)
	}
	return e.grammar, nil
}

func (k *Calls) key() (out key) {
	h := sha256.New()
	fmt.Fprintf(h, "calls %t %t %t %t %t %+v", k.Required, k.Single, k.Thinking, k.MayThink, k.Primed, *k.Format)
	for i, t := range k.Tools {
		fmt.Fprintf(h, " %d %s %d %s %t", len(t.Name), t.Name, len(t.Parameters), t.Parameters, k.Places[i].Strict)
	}
	if k.Form != nil {
		form := keyOf(k.Form)
		h.Write(form[:])
	}
	h.Sum(out[:0])
	return out
}

// A formError is an error of the form.
type formError struct{ error }

func (e formError) Unwrap() error { return e.error }

func (k *Calls) build(c *Compiler, b *grammar.Builder, g *Grammar) (root *grammar.Node, err error) {
	for i, t := range k.Tools {
		if len(t.Parameters) == 0 || string(t.Parameters) == "null" {
			continue
		}
		// Compile each schema alone to find the one at fault.
		one := grammar.NewBuilder(limits)
		n, _, err := schema.Add(one, t.Parameters, schema.Options{Strict: k.Places[i].Strict, Limits: limits})
		if err == nil {
			_, err = one.Compile(n, c.trie)
		}
		if err != nil {
			return nil, &rules.ToolError{Tool: i, Err: err}
		}
	}
	o := k.Options
	if k.Form != nil {
		form, _, err := forms[k.Form.Form].build(c, b, k.Form)
		if err != nil {
			return nil, formError{err}
		}
		o.Words, o.Form = form, ReadAs(k.Form)
		if o.MayThink, err = k.apart(c); err != nil {
			return nil, formError{err}
		}
	}
	g.MayThink = o.MayThink
	root, g.Notes, err = rules.Add(b, k.Format, o)
	return root, err
}

func (k *Calls) refusal(err error) error {
	if f, ok := errors.AsType[formError](err); ok {
		return refusal(k.Form, f.error)
	}
	if len(k.Tools) == 0 && k.Form != nil {
		return refusal(k.Form, err)
	}
	param := "tools"
	if t, ok := errors.AsType[*rules.ToolError](err); ok {
		param = k.Places[t.Tool].Param
	}
	if errors.Is(err, rules.ErrUnsupported) {
		return engine.Errorf(engine.CodeToolFormat, param, "%s: calls cannot be enforced in the wire format %q of this model; use \"tool_choice\": \"auto\" and tools that are not strict", param, k.Format.Name).Because(err)
	}
	return refusal(&engine.Constraint{Form: engine.FormSchema, Param: param}, err)
}
