package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chzyer/readline"

	"quern/engine"
	"quern/engine/chat"
)

// script types lines; an error among them is returned in place of a line.
type script struct {
	lines   []any
	prompts []string
}

func (s *script) Readline() (string, error) {
	if len(s.lines) == 0 {
		return "", io.EOF
	}
	next := s.lines[0]
	s.lines = s.lines[1:]
	if err, ok := next.(error); ok {
		return "", err
	}
	return next.(string), nil
}

func (s *script) SetPrompt(p string) { s.prompts = append(s.prompts, p) }
func (s *script) Close() error       { return nil }

// echo answers with the last message, word by word.
type echo struct {
	asked    []engine.GenerateRequest
	defaults engine.Sampling
	fail     error
	stall    chan<- os.Signal // when set, gets a Ctrl-C after the first word
}

func (e *echo) Defaults() engine.Sampling { return e.defaults }

func (e *echo) Generate(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	e.asked = append(e.asked, r)
	text := "continued " + r.Prompt.Text
	if m := r.Prompt.Messages; len(m) > 0 {
		text = "you said " + m[len(m)-1].Text
	}
	return func(yield func(engine.Event, error) bool) {
		if e.fail != nil {
			yield(engine.Event{}, e.fail)
			return
		}
		for i, w := range strings.SplitAfter(text, " ") {
			if i == 1 && e.stall != nil {
				e.stall <- os.Interrupt
				<-ctx.Done()
				yield(engine.Event{}, ctx.Err())
				return
			}
			if !yield(engine.Event{Type: engine.Delta, Text: w}, nil) {
				return
			}
		}
		yield(engine.Event{Type: engine.Done, PromptTokens: 5, CachedTokens: 1, OutputTokens: 3, Timings: engine.Timings{
			Prompt: 2 * time.Second, Predict: time.Second, First: 2 * time.Second}}, nil)
	}
}

func talk(t *testing.T, e *echo, kind engine.Kind, lines ...any) (s *session, out, errs string) {
	t.Helper()
	var o, ee bytes.Buffer
	s = &session{app: &app{out: &o, err: &ee}, lease: e, model: engine.ModelInfo{ID: "m", Kind: kind}, interrupts: make(chan os.Signal, 1)}
	if e.stall != nil {
		e.stall = s.interrupts
	}
	if err := s.loop(t.Context(), &script{lines: lines}); err != nil {
		t.Fatal(err)
	}
	return s, o.String(), ee.String()
}

func TestTalk(t *testing.T) {
	user := func(s string) chat.Message { return chat.Message{Role: chat.RoleUser, Text: s} }
	said := func(s string) chat.Message { return chat.Message{Role: chat.RoleAssistant, Text: s} }
	for _, tt := range []struct {
		name  string
		lines []any
		out   []string
		left  []chat.Message // the conversation at the end
	}{
		{"two turns", []any{"hi", "there"}, []string{"you said hi\n", "you said there\n"},
			[]chat.Message{user("hi"), said("you said hi"), user("there"), said("you said there")}},
		{"clear", []any{"hi", "/clear"}, []string{"Forgotten."}, nil},
		{"exit", []any{"hi", "/exit", "more"}, nil, []chat.Message{user("hi"), said("you said hi")}},
		{"empty lines", []any{"", "  "}, nil, nil},
		{"help", []any{"/help"}, []string{"/system TEXT", "Ctrl-C"}, nil},
		{"unknown command", []any{"/nothing"}, []string{"no command /nothing"}, nil},
		{"long line", []any{`one\`, "two"}, []string{"you said one\ntwo"}, []chat.Message{user("one\ntwo"), said("you said one\ntwo")}},
		{"quotes", []any{`"""one`, "/two", "", `three"""`}, []string{"you said one\n/two\n\nthree"}, []chat.Message{user("one\n/two\n\nthree"), said("you said one\n/two\n\nthree")}},
		{"quotes on lines of their own", []any{`"""`, "one", "two", `"""`}, []string{"you said one\ntwo"}, []chat.Message{user("one\ntwo"), said("you said one\ntwo")}},
		{"quotes on one line", []any{`"""/one"""`}, []string{"you said /one"}, []chat.Message{user("/one"), said("you said /one")}},
		{"quotes given up", []any{`"""one`, "two", readline.ErrInterrupt, "hi"}, []string{"you said hi"}, []chat.Message{user("hi"), said("you said hi")}},
		{"a long line given up", []any{`one\`, readline.ErrInterrupt, "hi"}, []string{"you said hi"}, []chat.Message{user("hi"), said("you said hi")}},
		{"quotes that do not end", []any{`"""one`}, nil, nil},
		{"a path on a second line", []any{`see\`, "/etc"}, []string{"you said see\n/etc"}, []chat.Message{user("see\n/etc"), said("you said see\n/etc")}},
		{"retry", []any{"/retry", "hi", "/retry"}, []string{"nothing to answer again", "you said hi\nyou said hi\n"},
			[]chat.Message{user("hi"), said("you said hi")}},
		{"stats", []any{"/stats", "hi", "/stats"}, []string{"No reply yet", "prompt 5 tokens (1 cached), 2.0/s; reply 3 tokens, 2.0/s; first after 2s"},
			[]chat.Message{user("hi"), said("you said hi")}},
		{"interrupt at the prompt", []any{readline.ErrInterrupt, "hi"}, []string{"Ctrl-D or /exit", "you said hi"},
			[]chat.Message{user("hi"), said("you said hi")}},
		{"system", []any{"/system", "/system be kind", "/system"}, []string{"No system message", "System message: be kind"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, out, errs := talk(t, &echo{}, engine.KindChat, tt.lines...)
			for _, part := range tt.out {
				if !strings.Contains(out, part) {
					t.Errorf("output %q; want %q in it", out, part)
				}
			}
			if len(s.messages) != len(tt.left) || len(tt.left) > 0 && !reflect.DeepEqual(s.messages, tt.left) {
				t.Errorf("conversation %+v; want %+v", s.messages, tt.left)
			}
			if errs != "" {
				t.Errorf("stderr %q", errs)
			}
		})
	}
}

func TestTalkSendsTheConversation(t *testing.T) {
	e := &echo{}
	talk(t, e, engine.KindChat, "/system be kind", "hi", "there")
	var roles []string
	for _, m := range e.asked[1].Prompt.Messages {
		roles = append(roles, m.Role)
	}
	if want := []string{"system", "user", "assistant", "user"}; !reflect.DeepEqual(roles, want) {
		t.Errorf("roles %v; want %v", roles, want)
	}
	if !e.asked[1].Prompt.AutoShorten {
		t.Error("a long chat would end in an error")
	}
}

func TestTalkToACompletionModel(t *testing.T) {
	e := &echo{}
	_, out, _ := talk(t, e, engine.KindCompletion, "Once upon")
	if e.asked[0].Prompt.Text != "Once upon" || len(e.asked[0].Prompt.Messages) != 0 || !strings.Contains(out, "Once uponcontinued Once upon") {
		t.Errorf("asked %+v, out %q", e.asked[0].Prompt, out)
	}
}

func TestTalkInterruptedReply(t *testing.T) {
	e := &echo{stall: make(chan os.Signal)}
	s, out, errs := talk(t, e, engine.KindChat, "hi")
	if !strings.Contains(out, "you \n(stopped)") && !strings.Contains(out, "you \n\n(stopped)") || errs != "" {
		t.Errorf("out %q, stderr %q", out, errs)
	}
	if len(s.messages) != 2 || s.messages[1].Text != "you " {
		t.Errorf("conversation %+v; want what was said to stay", s.messages)
	}
}

func TestTalkFailedReply(t *testing.T) {
	e := &echo{}
	s, _, _ := talk(t, e, engine.KindChat, "hi")
	e.fail = errors.New("no memory")
	var errs bytes.Buffer
	s.app.err = &errs
	if err := s.loop(t.Context(), &script{lines: []any{"/retry", "again"}}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(errs.String(), "quern: no memory") != 2 {
		t.Errorf("stderr %q", errs.String())
	}
	if len(s.messages) != 2 || s.messages[0].Text != "hi" {
		t.Errorf("conversation %+v; want the one before the failures", s.messages)
	}
}

func TestReplyOptions(t *testing.T) {
	half, four := float32(0.5), 4
	e := &echo{defaults: engine.Sampling{Temperature: &half, TopK: &four, MaxTokens: 9}}
	var out bytes.Buffer
	ask := func(o replyOptions) engine.GenerateRequest {
		s := &session{app: &app{out: &out, err: &out}, lease: e, options: o, model: engine.ModelInfo{Kind: engine.KindChat}}
		if err := s.reply(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		return e.asked[len(e.asked)-1]
	}
	r := ask(replyOptions{})
	if r.Sample.Temperature != 0.5 || r.Sample.TopK != 4 || r.MaxTokens != 9 {
		t.Errorf("the model's defaults: %+v", r)
	}
	if again := ask(replyOptions{}); again.Sample.Seed == r.Sample.Seed {
		t.Error("two replies have the same random seed")
	}
	given := map[string]bool{"temperature": true, "top-p": true, "top-k": true, "max-tokens": true, "seed": true}
	r = ask(replyOptions{given: given, topP: 0.3, maxTokens: 2, seed: 7})
	if p := r.Sample; p.Temperature != 0 || p.TopP != 0.3 || p.TopK != 0 || p.Seed != 7 || r.MaxTokens != 2 {
		t.Errorf("flags over the model's defaults: %+v", r)
	}
	e.defaults = engine.Sampling{}
	if r = ask(replyOptions{}); r.Sample.Temperature != 1 {
		t.Errorf("the default temperature is %v; want 1", r.Sample.Temperature)
	}
}

// Replies of run --schema are printed as they are, so the model is not to think before them.
func TestSchemaWithoutThinking(t *testing.T) {
	for _, tt := range []struct {
		form *engine.Constraint
		want string
	}{{nil, ""}, {&engine.Constraint{Form: engine.FormSchema, Source: "{}"}, "false"}} {
		var r engine.GenerateRequest
		(&replyOptions{form: tt.form}).apply(&r, engine.Sampling{})
		if got := string(r.Prompt.Kwargs["enable_thinking"]); got != tt.want {
			t.Errorf("with %v: enable_thinking %q, want %q", tt.form, got, tt.want)
		}
	}
}
