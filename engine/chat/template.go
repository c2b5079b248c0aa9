package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"quern/engine/chat/internal/jinja"
)

// Options describe the model a template belongs to. The zero value works.
type Options struct {
	Model string // name, for the log
	// The spellings of the special tokens; the template sees bos_token and so
	// on, or finds them undefined where they are empty.
	BOS, EOS, Unknown, Pad string

	Log *slog.Logger     // has a line for each repair a template needs; nil: not logged
	Now func() time.Time // the clock of strftime_now; nil is time.Now
}

// A Template is a model's chat template. It is safe for concurrent use.
type Template struct {
	jinja  *jinja.Template
	source string
	opt    Options
	wants  wants
	once   [repairs]sync.Once // a log line for each repair
}

// byName are templates that files have the name of only: llama.cpp's converter writes
// RWKV's where it has no text for it.
var byName = map[string]string{
	"rwkv-world": `{{ bos_token }}{% for m in messages %}` +
		`{% set who = {'system': 'System', 'user': 'User', 'assistant': 'Assistant'}[m.role] %}` +
		`{% if who and m.content %}{{ who }}: {{ m.content | trim }}{{ '\n\n' }}{% endif %}` +
		`{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}`,
}

// New parses a template, which may be the name of one, and finds out, by rendering small conversations, in
// which shape it wants messages. An empty source is ErrNoTemplate; other
// errors wrap ErrFormat or ErrUnsupported.
func New(source string, opt Options) (*Template, error) {
	if strings.TrimSpace(source) == "" {
		return nil, ErrNoTemplate
	}
	if t := byName[strings.TrimSpace(source)]; t != "" {
		source = t
	}
	parsed, err := jinja.Parse(source)
	if err != nil {
		kind := ErrFormat
		if errors.Is(err, jinja.ErrUnsupported) {
			kind = ErrUnsupported
		}
		return nil, fmt.Errorf("%w: %w", kind, err)
	}
	t := &Template{jinja: parsed, source: source, opt: opt}
	if t.opt.Log == nil {
		t.opt.Log = slog.New(slog.DiscardHandler)
	}
	t.probe()
	return t, nil
}

// ShortCallIDs reports whether the template refuses tool-call ids that are not
// exactly nine letters and digits, as Mistral's do. Render shortens foreign
// ids by itself; ids made for such a model should be so from the start.
func (t *Template) ShortCallIDs() bool { return t.wants.shortIDs }

// An End says how a prompt ends.
type End uint8

// The ends.
const (
	EndAnswer   End = iota // with whatever opens the assistant's next turn
	EndContinue            // right after the text of the last message, the assistant's, which is to be continued
	EndHistory             // with the last turn closed
)

// A Kwarg is an extra variable for the template, such as enable_thinking,
// reasoning_effort or documents.
type Kwarg struct {
	Name  string
	Value json.RawMessage
}

// A KwargError is a template variable of a request that cannot be used. It wraps
// ErrRequest and the cause.
type KwargError struct {
	Name string
	Err  error
}

func (e *KwargError) Error() string {
	return fmt.Sprintf("%v: template variable %.60q: %v", ErrRequest, e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *KwargError) Unwrap() []error { return []error{ErrRequest, e.Err} }

// A Request is a conversation to render.
type Request struct {
	Messages []Message
	Tools    []Tool
	Kwargs   []Kwarg // of one name the last counts
	End      End
}

// reserved are the variables a Kwarg cannot replace.
var reserved = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "unk_token", "pad_token"}

// Render renders a conversation. When ctx ends it stops with ctx's error.
//
// Messages are given to the template in the shape it wants (see wants). If it
// still refuses, it is asked again with system messages merged into one at the
// front, if there is one elsewhere, and with turns of one role in a row merged
// into one, if there are such. If it refuses those too, the error is a
// *TemplateError with its first answer. Errors in the request itself wrap
// ErrRequest.
func (t *Template) Render(ctx context.Context, req *Request) (*Prompt, error) {
	base, err := t.variables(ctx, req)
	if err != nil {
		return nil, err
	}
	out, err := t.render(ctx, base, req.Messages, req.End)
	if err != nil && !errors.Is(err, ErrRequest) && !errors.Is(err, jinja.ErrLimit) {
		for r := range repaired(req.Messages) {
			if ctx.Err() != nil {
				break
			}
			// A repair that does not help is no news.
			if again, err2 := t.render(ctx, base, r.messages, req.End); err2 == nil {
				t.logRepair(ctx, r.repair)
				return again, nil
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, ErrRequest) {
		return nil, templateError(err, req.Messages)
	}
	return out, err
}

// variables returns the template's variables but for the messages.
func (t *Template) variables(ctx context.Context, req *Request) (*jinja.Dict, error) {
	if len(req.Messages) == 0 {
		return nil, fmt.Errorf("%w: there are no messages", ErrRequest)
	}
	for i, m := range req.Messages {
		switch m.Role {
		case RoleSystem, RoleUser, RoleAssistant, RoleTool:
		default:
			return nil, fmt.Errorf("%w: message %d has role %q", ErrRequest, i, m.Role)
		}
	}
	if last := req.Messages[len(req.Messages)-1]; req.End == EndContinue && (last.Role != RoleAssistant || len(last.ToolCalls) > 0) {
		return nil, fmt.Errorf("%w: only a last message of the assistant without tool calls can be continued", ErrRequest)
	}
	vars := jinja.NewDict()
	for _, s := range []struct{ name, text string }{
		{"bos_token", t.opt.BOS}, {"eos_token", t.opt.EOS}, {"unk_token", t.opt.Unknown}, {"pad_token", t.opt.Pad},
	} {
		if s.text != "" {
			vars.Set(s.name, jinja.Text(s.text))
		}
	}
	if !t.wants.omitNone { // as Hugging Face does
		vars.Set("documents", jinja.None)
		vars.Set("tools", jinja.None)
	}
	if len(req.Tools) > 0 {
		tools := make([]jinja.Value, len(req.Tools))
		for i, tool := range req.Tools {
			v, err := fromJSON(ctx, tool.Raw)
			if err != nil {
				return nil, fmt.Errorf("%w: tool %d: %w", ErrRequest, i, err)
			}
			tools[i] = v
		}
		vars.Set("tools", jinja.NewList(tools...))
	}
	for _, k := range req.Kwargs {
		if slices.Contains(reserved, k.Name) {
			return nil, &KwargError{k.Name, errors.New("the template's own cannot be replaced")}
		}
		v, err := fromJSON(ctx, k.Value)
		if err != nil {
			return nil, &KwargError{k.Name, err}
		}
		vars.Set(k.Name, v)
	}
	vars.Set("add_generation_prompt", jinja.Bool(req.End == EndAnswer))
	return vars, nil
}

// render runs the template once. base is not changed.
func (t *Template) render(ctx context.Context, base *jinja.Dict, messages []Message, end End) (*Prompt, error) {
	list := make([]jinja.Value, len(messages))
	resume := resumption{}
	for i, m := range messages {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		origin := jinja.Outside
		if end == EndContinue && i == len(messages)-1 {
			m, resume = prepareResumption(m)
			origin = jinja.Final
		}
		list[i] = t.wants.message(ctx, m, origin)
	}
	out, err := t.run(base, list, jinja.Options{Now: t.opt.Now, MaxMemory: memory(messages), Check: ctx.Err})
	if err != nil {
		return nil, err
	}
	if end == EndContinue {
		if out, err = resume.cut(out); err != nil {
			return nil, err
		}
	}
	return &Prompt{Text: out.String(), marks: out.Marks()}, nil
}

func (t *Template) run(base *jinja.Dict, messages []jinja.Value, opt jinja.Options) (jinja.Str, error) {
	return t.jinja.Render(base.With("messages", jinja.NewList(messages...)), opt)
}

// checkEvery is the messages between two questions whether to go on.
const checkEvery = 1024

// memory is how many bytes a template may make in rendering messages. Some
// collect the prompt in a variable and so copy all of it for each piece they
// add.
func memory(messages []Message) int {
	const base, most = 256 << 20, 2 << 30
	size := 0
	for _, m := range messages {
		size += len(m.text()) + len(m.Reasoning)
	}
	if size > most/8/len(messages) {
		return most
	}
	return min(base+8*size*len(messages), most)
}

// A resumption finds where a prompt that continues a message has to end.
type resumption struct {
	// standIn is set if the message has no text for the engine to mark. It is
	// then given some, which is cut off again.
	standIn bool
}

// prepareResumption makes the text of the message to continue findable.
func prepareResumption(m Message) (Message, resumption) {
	text := m.text()
	r := resumption{standIn: strings.TrimSpace(text) == ""}
	if r.standIn {
		text = "text"
	}
	m.Text, m.Parts, m.NoContent = text, nil, false
	return m, r
}

// cut ends the prompt where the marked text ends. Templates that trim their
// messages have dropped blanks at its end by then.
func (r resumption) cut(out jinja.Str) (jinja.Str, error) {
	marks := out.Marks()
	for i := len(marks) - 1; i >= 0; i-- {
		if marks[i].Origin == jinja.Final {
			if r.standIn {
				return out.Head(marks[i].From), nil
			}
			return out.Head(marks[i].To), nil
		}
	}
	return out, errors.New("the template does not print the message to be continued")
}
