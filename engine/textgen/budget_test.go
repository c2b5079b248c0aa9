package textgen

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/constrain"
	"quern/engine/sample"
	"quern/engine/token"
	"quern/engine/wire"
)

// limitOf is the limit of a reply in a format, in a vocabulary with control tokens, beside
// what r asks for.
func limitOf(t *testing.T, format, prompt string, controls []string, r *engine.GenerateRequest) (*token.Vocab, sample.Mask) {
	t.Helper()
	m := modelOf(t, 256)
	m.Vocab = controlVocab(t, controls...)
	m.forms = constrain.New(m.Vocab)
	f, ok := wire.Find(format)
	if !ok {
		t.Fatalf("no format %q", format)
	}
	l := &answerFormat{symbols: m.symbolsOf(f)}
	open, over := f.Thinking(prompt)
	l.thinking, l.mayThink = open, !over
	l.options = wire.Options{Prompt: prompt, NoCalls: len(r.Prompt.Tools) == 0}
	var mask func() sample.Mask
	var err error
	if r.Constraint != nil && !r.ToolChoice.Required {
		l.options.Form = constrain.ReadAs(r.Constraint)
	}
	if r.Constraint != nil || len(r.Prompt.Tools) > 0 {
		if mask, err = l.constrain(t.Context(), m, r); err != nil {
			t.Fatal(err)
		}
	}
	if mask, err = l.limited(t.Context(), m, r, mask); err != nil {
		t.Fatal(err)
	}
	return m.Vocab, mask()
}

// When the tokens of thinking are used up its end is written, and what follows is as free as
// it was.
func TestLimit(t *testing.T) {
	think := []string{"<think>", "</think>"}
	harmony := []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|end|>", "<|return|>", "<|call|>"}
	tool := []chat.Tool{{Raw: json.RawMessage(`{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{},"additionalProperties":false}}}`)}}
	yes := &engine.Constraint{Form: engine.FormChoice, Choices: []string{"yes"}, Param: "choice"}
	for _, tt := range []struct {
		name, format, prompt string
		controls             []string
		r                    engine.GenerateRequest
		tokens               int
		says, then           string // what is drawn, and what has to follow
		free                 bool   // what may come then
	}{
		{name: "not used up", format: "hermes-json", prompt: "<think>\n", tokens: 3, says: "ab", free: true},
		{name: "used up", format: "hermes-json", prompt: "<think>\n", tokens: 3, says: "abc", then: "</think>", free: true},
		{name: "a token", format: "hermes-json", prompt: "<think>\n", controls: think, tokens: 3, says: "abc", then: "</think>", free: true},
		{name: "none", format: "hermes-json", prompt: "<think>\n", controls: think, says: "", then: "</think>", free: true},
		{name: "the reply opens it", format: "hermes-json", controls: think, tokens: 2, says: "<think>ab", then: "</think>", free: true},
		{name: "words", format: "hermes-json", controls: think, tokens: 2, says: "words, not thinking", free: true},
		{name: "it ends by itself", format: "hermes-json", prompt: "<think>", controls: think, tokens: 3, says: "ab</think>and much more", free: true},
		{name: "half a character", format: "hermes-json", prompt: "<think>", tokens: 2, says: "a\xf0\x9f\xa6\x8a", then: "</think>", free: true},
		{name: "no characters", format: "hermes-json", prompt: "<think>", tokens: 1, says: "\xf0\xf0\xf0\xf0\xf0", then: "</think>", free: true},
		{name: "a form behind", format: "hermes-json", prompt: "<think>", tokens: 2, r: engine.GenerateRequest{Constraint: yes}, says: "ab", then: "</think>yes"},
		{name: "a form at once", format: "hermes-json", controls: think, tokens: 2, r: engine.GenerateRequest{Constraint: yes}, says: "y", then: "es"},
		{name: "a call behind", format: "nemotron-v2", prompt: "<think>", controls: append(think, "<TOOLCALL>", "</TOOLCALL>"), tokens: 2,
			r: engine.GenerateRequest{Prompt: engine.Prompt{Tools: tool}, ToolChoice: engine.ToolChoice{Required: true}}, says: "ab", then: "</think>"},
		{name: "messages", format: "harmony", prompt: "<|start|>assistant", controls: harmony, tokens: 2, says: "<|channel|>analysis<|message|>ab", then: "<|end|><|start|>assistant<|channel|>final<|message|>", free: true},
		{name: "messages, a form", format: "harmony", prompt: "<|start|>assistant", controls: harmony, tokens: 2, r: engine.GenerateRequest{Constraint: yes},
			says: "<|channel|>analysis<|message|>ab", then: "<|end|><|start|>assistant<|channel|>"},
		{name: "messages, a call", format: "harmony", prompt: "<|start|>assistant", controls: harmony, tokens: 2,
			r:    engine.GenerateRequest{Prompt: engine.Prompt{Tools: tool}, ToolChoice: engine.ToolChoice{Required: true}},
			says: "<|channel|>analysis<|message|>ab", then: "<|end|><|start|>assistant<|channel|>commentary to=functions.f"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.ReasoningBudget = &engine.ReasoningBudget{Tokens: tt.tokens, Param: "reasoning_budget"}
			v, m := limitOf(t, tt.format, tt.prompt, tt.controls, &tt.r)
			end := token.ID(v.Size() - 1)
			for i, id := range tokensOf(v, tt.says) {
				words, err := m.Bits()
				if err != nil || words[id>>5]>>(id&31)&1 == 0 || !m.Allows(id) {
					t.Fatalf("token %d of %q is barred: %v", i, tt.says, err)
				}
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
			if ids := m.Forced(nil, nil); !slices.Equal(ids, tokensOf(v, tt.then)[:len(ids)]) || len(ids) == 0 && tt.then != "" {
				t.Errorf("%v are forced, want %v", ids, tokensOf(v, tt.then))
			}
			for i, id := range tokensOf(v, tt.then) {
				words, err := m.Bits()
				n := 0
				for _, w := range words {
					n += bits.OnesCount32(w)
				}
				if err != nil || n != 1 || words[id>>5]>>(id&31)&1 == 0 || !m.Allows(id) || m.Allows(end) || m.MayEnd() || m.Ended() {
					t.Fatalf("token %d of %q does not have to come: %d may, %v", i, tt.then, n, err)
				}
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
			words, err := m.Bits()
			if free := words[end>>5]>>(end&31)&1 != 0 && m.Allows('x'); err == nil && free != tt.free || m.Ended() != strings.HasSuffix(tt.says+tt.then, "yes") {
				t.Errorf("then anything may come: %v, want %v (%v); ended %v", free, tt.free, err, m.Ended())
			}
		})
	}
}

// Thinking in a second message has no budget left, and the end of the reply is parsed
// as without a budget.
func TestLimitOfMessages(t *testing.T) {
	r := &engine.GenerateRequest{ReasoningBudget: &engine.ReasoningBudget{Tokens: 3}}
	v, m := limitOf(t, "harmony", "<|start|>assistant", []string{"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>"}, r)
	text := ""
	for _, says := range []string{"<|channel|>analysis<|message|>ab<|end|>", "<|start|>assistant<|channel|>analysis<|message|>c", "", "Hi<|end|><|start|>assistant<|channel|>analysis<|message|>", "", "Ho"} {
		for _, id := range tokensOf(v, says) {
			if !m.Allows(id) {
				t.Fatalf("%q is barred behind %q", says, text)
			}
			if err := m.Accept(id); err != nil {
				t.Fatal(err)
			}
		}
		if text += says; says == "" {
			for !m.Allows('x') {
				words, _ := m.Bits()
				for i, w := range words {
					if w != 0 {
						id := token.ID(i*32 + bits.TrailingZeros32(w))
						text += v.Text(id)
						if err := m.Accept(id); err != nil {
							t.Fatal(err)
						}
						break
					}
				}
			}
		}
	}
	const close = "<|end|><|start|>assistant<|channel|>final<|message|>"
	if want := "<|channel|>analysis<|message|>ab<|end|><|start|>assistant<|channel|>analysis<|message|>c" + close + "Hi<|end|><|start|>assistant<|channel|>analysis<|message|>" + close + "Ho"; plainBytes(text) != want {
		t.Errorf("got %q, want %q", plainBytes(text), want)
	}
}

// plainBytes spells the tokens of single bytes as those.
func plainBytes(text string) string {
	for i := range 128 {
		text = strings.ReplaceAll(text, fmt.Sprintf("<0x%02X>", i), string(rune(i)))
	}
	return text
}

// Thinking that is switched off is bounded where the prompt cannot keep the reply from it;
// thinking that no request switches off is not.
func TestLimitOfNone(t *testing.T) {
	for _, tt := range []struct {
		format   string
		mayThink bool
		want     bool
	}{{"harmony", false, true}, {"harmony", true, false}, {"hermes-json", false, false}, {"hermes-json", true, false}} {
		m := modelOf(t, 256)
		m.Vocab = controlVocab(t, "<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>")
		f, _ := wire.Find(tt.format)
		l := &answerFormat{symbols: m.symbolsOf(f), mayThink: tt.mayThink, options: wire.Options{Prompt: "<|start|>assistant"}}
		mask, err := l.limited(t.Context(), m, &engine.GenerateRequest{}, nil)
		if err != nil || mask != nil != tt.want {
			t.Fatalf("%s, may think %v: limited %v, %v", tt.format, tt.mayThink, mask != nil, err)
		}
		if mask == nil {
			continue
		}
		q := mask()
		for _, id := range tokensOf(m.Vocab, "<|channel|>analysis<|message|>") {
			if err := q.Accept(id); err != nil {
				t.Fatal(err)
			}
		}
		if got := q.Forced(nil, nil); !slices.Equal(got, tokensOf(m.Vocab, "<|end|><|start|>assistant<|channel|>final<|message|>")) {
			t.Errorf("%s: %v are forced", tt.format, got)
		}
	}
}
