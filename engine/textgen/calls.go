package textgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/constrain"
	"quern/engine/sample"
	"quern/engine/token"
	"quern/engine/wire"
	"quern/engine/wire/rules"
)

// calls returns the answers that r allows by its tools and its form. demanded: other answers
// must be impossible, not only unlikely.
func (l *answerFormat) calls(v *token.Vocab, r *engine.GenerateRequest) (k *constrain.Calls, demanded bool, err error) {
	choice := r.ToolChoice
	f := l.symbols.syntax.Format
	k = &constrain.Calls{Format: f, Options: rules.Options{
		Required: choice.Required, Single: choice.One,
		Thinking: l.thinking, MayThink: l.mayThink, Primed: f.Primed != "" && strings.HasSuffix(l.options.Prompt, f.Primed),
		Token: func(text string) (int32, bool) {
			id, ok := l.symbols.ids[text]
			return id, ok && !v.Ends(id) // tokens that end a reply are not in it
		},
		Ends: func(text string) bool {
			id, ok := l.symbols.ids[text]
			return ok && v.Ends(id)
		},
		Name: "calls#", // as no rule of a client's grammar is called
	}}
	if l.options.Form != wire.FormNone {
		k.Form = r.Constraint
	}
	demanded = choice.Required || choice.Names != nil || k.Form != nil
	functions, err := functionsOf(r.Prompt.Tools)
	if err != nil {
		return nil, false, err
	}
	for i, fn := range functions {
		if choice.Names != nil && !slices.Contains(choice.Names, fn.Name) {
			continue
		}
		demanded = demanded || fn.Strict
		k.Tools = append(k.Tools, wire.Tool{Name: fn.Name, Parameters: fn.Parameters})
		k.Places = append(k.Places, constrain.Place{Param: paramOf(r.Prompt.Tools, i), Strict: fn.Strict})
	}
	return k, demanded, nil
}

// paramOf is where a request has the schema of a tool.
func paramOf(tools []chat.Tool, i int) string {
	return cmp.Or(tools[i].Param, fmt.Sprintf("tools[%d].function.parameters", i))
}

// constrain returns a function that makes the masks of answers by the tools and the form of r;
// nil where these cannot be enforced and r does not demand it: calls are then parsed
// without a mask.
func (l *answerFormat) constrain(ctx context.Context, m *Model, r *engine.GenerateRequest) (func() sample.Mask, error) {
	k, demanded, err := l.calls(m.Vocab, r)
	if err != nil {
		return nil, err
	}
	g, err := l.symbols.forms.Calls(ctx, k)
	if refused, ok := errors.AsType[*engine.Error](err); ok && !demanded && (refused.Code == engine.CodeToolFormat || refused.Code == engine.CodeInvalidSchema) {
		m.log.WarnContext(ctx, "tool calls are read as they come, not held to their schemas", "model", m.ID, "err", err)
		l.notes = []string{"calls are read as they come, not held to their schemas: " + refused.Message}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.notes = g.Notes
	l.silent = k.Required
	l.options.NoThinking = k.Form != nil && !g.MayThink
	return g.Mask, nil
}

// bars is the bias that bars a token; see sample.Params.
const bars = -100

// barred are the tokens that begin a call, where a conversation has calls and the request
// no tools: the model would call again.
func (c *conversation) barred(r *engine.GenerateRequest) []token.ID {
	called := func(m chat.Message) bool { return len(m.ToolCalls) > 0 }
	if c == nil || len(r.Prompt.Tools) > 0 || !slices.ContainsFunc(r.Prompt.Messages, called) {
		return nil
	}
	d := c.dialect()
	if d.plain {
		return nil
	}
	var out []token.ID
	s := d.symbols(d.found.Format)
	for _, text := range d.found.Format.Triggers() {
		if id, ok := s.ids[text]; ok && !c.m.Vocab.Ends(id) {
			out = append(out, id)
		}
	}
	return out
}
