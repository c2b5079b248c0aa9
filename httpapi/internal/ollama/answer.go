package ollama

import (
	"context"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// The fields that chat and generate requests share, beside an ask.Chat.
type common struct {
	context int // that is asked for; 0 is none
}

func (a api) readCommon(o *body.Object, r *ask.Chat, more *common) {
	more.context = readOptions(o, &r.Sampling)
	r.Sampling.KeepAlive = body.KeepAlive(o)
	r.Sampling.Constraint = readFormat(o)
	r.Budget = readThink(o, a.Options.ReasoningBudgets, &r.Prompt)
	r.Stream = o.Boolean("stream", true)
	ask.RefuseOthers(o, []ask.Other{{Name: "logprobs", Off: false}, {Name: "top_logprobs", Off: 0.0}})
	r.Prompt.AutoShorten = o.Boolean("truncate", false) // unlike there nothing is left out unless asked for
	o.Ignore("shift", "user")
}

// The members every line of an answer begins with.
type head struct {
	Model   string `json:"model"`
	Created string `json:"created_at"`
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// The members a line ends with; those after Done are of the last. Times are nanoseconds.
type ended struct {
	Done    bool          `json:"done"`
	Reason  string        `json:"done_reason,omitempty"`
	Total   time.Duration `json:"total_duration,omitempty"`
	Load    time.Duration `json:"load_duration,omitempty"`
	Prompt  int           `json:"prompt_eval_count,omitempty"`
	Reading time.Duration `json:"prompt_eval_duration,omitempty"`
	Output  int           `json:"eval_count,omitempty"`
	Writing time.Duration `json:"eval_duration,omitempty"`
}

// reasons are the engine's reasons in the dialect's words.
var reasons = map[string]string{engine.ReasonStop: "stop", engine.ReasonLength: "length", engine.ReasonCalls: "stop"}

// A chunk is a line of an answer.
type chunk interface{ with(head, ended) any }

// A spelled is the form of an endpoint's answers.
type spelled struct {
	chunk func(text, thinking string, calls []call) any
	kinds []engine.Kind
	shape func(context.Context, engine.ModelInfo) error // gives the request its prompt, for the model; may be nil
}

// answer has the model answer r.
func (a api) answer(c *server.Call, r *ask.Chat, more common, as spelled) error {
	begin := time.Now()
	info, err := a.open(c, r.Model, as.kinds...)
	if err != nil {
		return err
	}
	if info.ContextLength > 0 && more.context > info.ContextLength {
		c.Warn("options.num_ctx is more than the context this server gives the model; raise context_length in the configuration")
	}
	ctx, cancel := turn.Time(a.API, c, r.Stream)
	defer cancel()
	if as.shape != nil {
		if err := as.shape(ctx, info); err != nil {
			return fault.Classify(ctx, err)
		}
	}
	asked, err := r.Turn(ctx, a.API, c)
	if err != nil {
		return err
	}
	s := &spelling{spelled: as, model: r.Model, begin: begin, load: c.Loading}
	return turn.Answer(ctx, a.API, c, asked, turn.Dialect{
		Streamed: r.Stream, Framing: lines,
		Stream: func(out *stream.Writer, t *turn.Tally) turn.Spelling {
			s.out, s.t = out, t
			return s
		},
		Whole: func(replies []turn.Reply, t *turn.Tally) any {
			q := &replies[0].Sequences[0]
			var calls []call
			for i, one := range q.Calls {
				calls = append(calls, newCall(i, one))
			}
			s.t = t
			return s.line(q.Text(), q.Reasoning(), calls, s.last(q.End.Reason))
		},
	})
}

// A spelling spells a turn as lines.
type spelling struct {
	spelled
	out   *stream.Writer
	t     *turn.Tally
	model string // the client's name of it
	begin time.Time
	load  time.Duration

	call      turn.Call // that is under way
	arguments strings.Builder
	reason    string
}

func (s *spelling) line(text, thinking string, calls []call, e ended) any {
	return s.chunk(text, thinking, calls).(chunk).with(head{s.model, now()}, e)
}

// last is the end of the last line.
func (s *spelling) last(reason string) ended {
	return ended{
		Done: true, Reason: reasons[reason], Total: time.Since(s.begin), Load: s.load,
		Prompt: s.t.PromptTokens, Reading: s.t.Timings.Prompt, Output: s.t.OutputTokens, Writing: s.t.Timings.Predict,
	}
}

// Begin implements turn.Spelling.
func (s *spelling) Begin() error { return nil }

// Event implements turn.Spelling.
func (s *spelling) Event(ev turn.Event) error {
	switch ev.Type {
	case engine.Delta:
		if ev.Text != "" {
			return s.out.Event(s.line(ev.Text, "", nil, ended{}))
		}
	case engine.ReasoningDelta:
		if ev.Text != "" {
			return s.out.Event(s.line("", ev.Text, nil, ended{}))
		}
	case engine.CallStart:
		s.call = turn.Call{ID: ev.CallID, Name: ev.Name}
		s.arguments.Reset()
	case engine.CallDelta:
		s.arguments.WriteString(ev.Text)
	case engine.CallEnd:
		s.call.Arguments = s.arguments.String()
		return s.out.Event(s.line("", "", []call{newCall(ev.Call, s.call)}, ended{}))
	case engine.Finish:
		s.reason = ev.Reason
	}
	return nil
}

// End implements turn.Spelling.
func (s *spelling) End() error { return s.out.Event(s.line("", "", nil, s.last(s.reason))) }

// ready loads the model of a name, or unloads it, and returns it.
func (a api) ready(c *server.Call, name string, keep *time.Duration, kinds ...engine.Kind) (reason string, err error) {
	if keep == nil || *keep != 0 {
		if _, err = a.open(c, name, kinds...); err == nil && keep != nil {
			c.Lease.Stay(*keep)
		}
		return "load", err
	}
	m, err := a.find(name, kinds...)
	if err == nil {
		err = m.Unload()
	}
	return "unload", err
}

// load answers an empty request, which only asks for the model to be loaded or unloaded.
func (a api) load(c *server.Call, r *ask.Chat, empty any, kinds ...engine.Kind) error {
	reason, err := a.ready(c, r.Model, r.Sampling.KeepAlive, kinds...)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, empty.(chunk).with(head{r.Model, now()}, ended{Done: true, Reason: reason}))
}
