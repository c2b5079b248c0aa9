package engine

import (
	"cmp"
	"encoding/json"
	"time"

	"quern/engine/chat"
	"quern/engine/sample"
	"quern/engine/token"
)

// A Prompt is the input of a generation: exactly one of Messages, Text and
// Tokens is used, in that order of preference.
type Prompt struct {
	Messages []chat.Message
	Text     string     // raw text; BOS is added when the tokenizer says so
	Tokens   []token.ID // taken as they are
	Param    string     // the field of the request that errors name; "" means messages, or prompt for Text and Tokens

	// For Messages only.
	Template    string                     // overrides the model's chat template when not ""
	Kwargs      map[string]json.RawMessage // extra template variables (chat_template_kwargs)
	Tools       []chat.Tool                // in the shape of OpenAI's API
	Continue    bool                       // continue the last message, which is the assistant's
	AutoShorten bool                       // drop the oldest whole turns instead of refusing a prompt that is too long
}

// Field is the field of the request that p came in, for errors.
func (p *Prompt) Field() string {
	if p.Messages != nil {
		return cmp.Or(p.Param, "messages")
	}
	return cmp.Or(p.Param, "prompt")
}

// A GenerateRequest asks for text. The zero value of every field but Model and
// Prompt is its default.
type GenerateRequest struct {
	Prompt Prompt

	N         int  // sequences; 0 means 1
	MaxTokens int  // 0 means the rest of the context; more than that is clamped
	MinTokens int  // end-of-generation tokens are barred before this many
	NoTokens  bool // with PromptLogprobs or echo: evaluate the prompt and generate nothing

	Stop      []string   // text before a stop is returned, the stop is not; they do not match in thinking and calls
	StopIDs   []token.ID // like end-of-generation tokens
	IgnoreEOS bool

	Constraint *Constraint // nil allows any reply

	ReasoningBudget *ReasoningBudget // nil allows any thinking

	Sample         sample.Params
	PromptLogprobs bool // report the prompt's own log-probabilities (Sample.Top of them)
	NoPromptCache  bool // neither read nor fill the prefix cache
	Follows        bool // another prompt of the client's request was taken: this one waits even in a full queue

	ToolChoice ToolChoice // for Prompt.Tools

	Prediction string // the expected reply: tokens that it predicts come faster
	MaxDraft   int    // most tokens that are drafted at a time; 0 means the model's, and negative none

	// KeepAlive, when not nil, is the idle time after which the model is unloaded; negative
	// never. It holds until that, or until another request sets it.
	KeepAlive *time.Duration
}

// A ReasoningBudget bounds the tokens a reply to messages thinks, beside the markers around
// them. When they are used up the end of thinking is written, whose tokens count as the reply's.
type ReasoningBudget struct {
	Tokens int    // 0 leaves no room; Kwargs may keep the prompt from asking for some
	Param  string // the request field it came from; "" leaves it out where it cannot be kept to
}

// A ToolChoice says how the tools of a prompt may be called. The zero value leaves it to
// the model, which may answer in words, or call several.
type ToolChoice struct {
	Required bool     // the answer is a call
	Names    []string // of the tools that may be called; nil is all
	One      bool     // at most one call: generation ends with it
}

// An EventType says which fields of an Event are set.
type EventType uint8

// The events of a generation, in the order they come: one Admitted, one
// PromptDone, then deltas, calls and one Finish per sequence (those of different
// sequences interleave), and one Done. Only answers to Prompt.Messages have thinking
// and calls.
const (
	// Admitted: the model is loaded, the prompt fits and is queued. What fails
	// later is a failure of the engine. Sets PromptTokens, Truncated, Constrained and Notes.
	Admitted EventType = iota + 1
	// PromptDone: the prompt was evaluated. Sets PromptTokens, CachedTokens and, when asked
	// for, Prompt.
	PromptDone
	// Delta: text or log-probabilities of sequence Index. Text is whole
	// characters; it may be empty when there are only Logprobs. A reader as fast as
	// tokens come gets a Delta for each, a slower one several in one Delta.
	Delta
	// ReasoningDelta: thinking of sequence Index, like Delta.
	ReasoningDelta
	// CallStart: sequence Index calls a tool. Sets Call, CallID and Name.
	CallStart
	// CallDelta: Text is more of the arguments of Call, which are JSON.
	CallDelta
	// CallEnd: Call is whole. One that does not end was cut off or went wrong.
	CallEnd
	// Finish: sequence Index ended. Sets Reason and StopReason.
	Finish
	// Done: all sequences ended. Sets Usage and Timings.
	Done
)

// Finish reasons.
const (
	ReasonStop   = "stop"       // end of generation or a stop string
	ReasonLength = "length"     // token limit or end of the context
	ReasonCalls  = "tool_calls" // as ReasonStop, and there is a whole call
)

// An Event is one piece of a generation.
type Event struct {
	Type  EventType
	Index int // sequence, from 0

	Text     string    // Delta, ReasoningDelta, CallDelta
	Logprobs []Logprob // Delta: entries of the tokens Text is made of; an entry may arrive before or with its text, never after

	Call   int    // CallStart, CallDelta, CallEnd: index of the call, from 0
	CallID string // CallStart
	Name   string // CallStart: the tool's

	Reason     string  // Finish
	StopReason any     // Finish: the stop string (string) or token id (token.ID) that ended it, else nil
	Cumulative float64 // Finish: sum of the log-probabilities drawn (with Sample.Logprobs)
	Tokens     int     // Finish: tokens generated by this sequence, end-of-generation token excluded

	PromptTokens int       // Admitted, PromptDone, Done
	Truncated    int       // Admitted: messages dropped by Prompt.AutoShorten
	Constrained  bool      // Admitted: the request's Constraint is in force
	Notes        []string  // Admitted: parts of the tools' schemas that are not enforced
	CachedTokens int       // PromptDone, Done: prompt tokens taken from the prefix cache
	Prompt       []Logprob // PromptDone: one entry per prompt token, with PromptLogprobs; the first has no log-probability (Top is nil, Logprob 0)
	OutputTokens int       // deltas, calls, Finish, Done: tokens all sequences have generated so far
	Reasoning    int       // the same of thinking, among them
	Predicted    int       // Done, with Prediction: tokens that were drafted and came so
	Unpredicted  int       // Done, with Prediction: tokens that were drafted and did not
	Timings      Timings   // Done
}

// A Logprob describes one token for clients that ask.
type Logprob struct {
	ID      token.ID
	Bytes   []byte // the token's text, which need not be valid UTF-8
	Logprob float32
	Top     []Alternative // best first
	Aside   bool          // of a Delta: the token is no part of the text, but of thinking, a call or a marker
}

// An Alternative is a token that could have come.
type Alternative struct {
	ID      token.ID
	Bytes   []byte
	Logprob float32
}

// Timings says where the time of a generation went.
type Timings struct {
	Queue   time.Duration // from submission to the first step
	Prompt  time.Duration // from the first step to the first token
	Predict time.Duration // from the first token to the last
	First   time.Duration // from submission to the first token
}

// A TokenizeRequest asks for the tokens of a text or of a rendered chat.
type TokenizeRequest struct {
	Prompt     Prompt // Messages or Text
	AddSpecial bool   // add BOS/EOS as the tokenizer says (Text only)
}

// A TokenizeResult is a tokenised prompt.
type TokenizeResult struct {
	Tokens  []token.ID
	Bytes   func(token.ID) []byte // of a token of the model; for reading only, also when the model is gone
	Text    string                // of Messages: the prompt as the model sees it, control tokens spelled out
	Context int                   // the model's context length
}

// An InfillRequest asks for the prompt that has a model write the text between two others.
type InfillRequest struct {
	Prefix, Suffix string
	Prompt         string // follows the prefix; its end is kept
	Files          []File // of the repository, the nearest last; if not nil, the prompt is laid out as that of one

	// Cut keeps the parts nearest to the gap of texts that are too long, as llama-server does, with room
	// for a reply of Reply tokens, 0 where that is not known. Else they are refused.
	Cut   bool
	Reply int

	Param string // the field that asks for it, where the model has no tokens for it; "" is the model
}

// A File is one that a prompt quotes.
type File struct{ Name, Text string }

// A Form is the kind of a Constraint.
type Form string

// The forms.
const (
	FormObject  Form = "json_object" // any JSON object
	FormSchema  Form = "json_schema" // a JSON value that is valid under the JSON Schema in Source
	FormGrammar Form = "grammar"     // a text of the grammar in Source, which is llama.cpp's GBNF
	FormRegex   Form = "regex"       // a text that the regular expression in Source, as of ECMAScript, matches whole
	FormChoice  Form = "choice"      // one of Choices
)

// A Constraint says which texts a reply may be. No other is ever generated; a reply that
// a limit cuts off is the beginning of one.
type Constraint struct {
	Form    Form
	Source  string   // of FormSchema, FormGrammar and FormRegex
	Choices []string // of FormChoice
	Strict  bool     // of FormSchema: refuses keywords that would be read as comments

	// Param is the request field it came from; the Param of an error begins with it.
	Param string
}
