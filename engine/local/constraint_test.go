package local

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"quern/engine"
	"quern/engine/sample"
)

// bounded are schemas all of whose values end soon.
var bounded = []string{
	`{"type":"object","properties":{"city":{"type":"string","maxLength":12},"size":{"enum":["small","big"]},"people":{"type":"integer","minimum":0,"maximum":9999}},"required":["city","size","people"],"additionalProperties":false}`,
	`{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":4}`,
	`{"enum":["red","green",17,null,{"a":[1]}]}`,
	`{"type":"string","pattern":"^[A-Z]{2}-[0-9]{3}$"}`,
	`{"type":"string","format":"date"}`,
	`{"type":"integer","minimum":-20,"maximum":5}`,
	`{"anyOf":[{"type":"null"},{"type":"object","properties":{"x":{"type":"string","format":"uuid"}},"required":["x"],"additionalProperties":false}]}`,
	`{"$defs":{"n":{"type":"object","properties":{"v":{"type":"boolean"},"next":{"anyOf":[{"type":"null"},{"const":1}]}},"required":["v","next"],"additionalProperties":false}},"type":"array","items":{"$ref":"#/$defs/n"},"minItems":1,"maxItems":2}`,
	`{"type":"object","properties":{"é":{"type":"string","maxLength":3},"日本":{"const":"\u00e9\"\\"}},"required":["é","日本"],"additionalProperties":false}`,
	`{"type":"array","prefixItems":[{"const":"a"},{"type":"integer","minimum":1,"maximum":3}],"items":false,"minItems":2}`,
	`{"type":["boolean","null"]}`,
	`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":{"enum":[1,2,3]},"maxItems":3}},"required":["b"],"additionalProperties":false}},"required":["a"],"additionalProperties":false}`,
}

// validator judges texts by a schema.
func validator(t *testing.T, schema string) func(text string) error {
	t.Helper()
	judge := judgeOf(schema)
	if judge == nil {
		t.Fatalf("the validator does not read %s", schema)
	}
	return judge
}

// judgeOf is validator, or nil for schemas that another's package cannot read.
func judgeOf(schema string) func(text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if c.AddResource("s.json", doc) != nil {
		return nil
	}
	s, err := c.Compile("s.json")
	if err != nil {
		return nil
	}
	return func(text string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}

func schemaOf(src string) *engine.Constraint {
	return &engine.Constraint{Form: engine.FormSchema, Source: src, Param: "schema"}
}

// ways are how replies may be drawn.
var ways = map[string]func(*engine.GenerateRequest){
	"greedy":     func(*engine.GenerateRequest) {},
	"drawn":      func(r *engine.GenerateRequest) { r.Sample.Temperature = 1 },
	"hot":        func(r *engine.GenerateRequest) { r.Sample.Temperature, r.Sample.TopK = 2, 40 },
	"three":      func(r *engine.GenerateRequest) { r.Sample.Temperature, r.N = 1, 3 },
	"logprobs":   func(r *engine.GenerateRequest) { r.Sample.Temperature, r.Sample.Logprobs, r.Sample.Top = 1, true, 3 },
	"penalties":  func(r *engine.GenerateRequest) { r.Sample.RepeatPenalty, r.Sample.FrequencyPenalty = 1.5, 1 },
	"filters":    func(r *engine.GenerateRequest) { r.Sample.Temperature, r.Sample.TopP, r.Sample.MinP = 1, 0.9, 0.01 },
	"ignore_eos": func(r *engine.GenerateRequest) { r.IgnoreEOS = true },
	"min_tokens": func(r *engine.GenerateRequest) { r.MinTokens = 500 },
}

// TestSchemas: every reply is valid, however it is drawn, while sixteen sequences run
// side by side, each with a schema of its own.
func TestSchemas(t *testing.T) {
	e := open(t, engine.Options{})
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i, src := range bounded {
		valid := validator(t, src)
		for name, way := range ways {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				r := engine.GenerateRequest{Prompt: user("Describe a place."), MaxTokens: 400, Constraint: schemaOf(src), Sample: sample.Params{Seed: uint64(i)}}
				way(&r)
				res, err := gather(t.Context(), e, "", r)
				if err != nil {
					t.Errorf("%s, schema %d: %v", name, i, err)
					return
				}
				for k, text := range res.text {
					// A request that bars the end may generate zeros after a decimal point for ever.
					ends := res.reason[k] == engine.ReasonStop || r.IgnoreEOS || r.MinTokens > 0
					if err := valid(text); err != nil || !ends {
						t.Errorf("%s, schema %d, %s: %q: %v", name, i, res.reason[k], text, err)
					}
				}
				if !res.events[0].Constrained {
					t.Errorf("%s, schema %d: no event says that the form is in force", name, i)
				}
				probs(t, &r, &res)
			})
		}
	}
	wg.Wait()
}

// probs checks that log-probabilities are those before the mask.
func probs(t *testing.T, r *engine.GenerateRequest, res *result) {
	entries := 0
	for _, ev := range res.events {
		for _, l := range ev.Logprobs {
			entries++
			if len(l.Top) != r.Sample.Top || l.Logprob > l.Top[0].Logprob || l.Logprob > 0 {
				t.Errorf("a log-probability of %v with alternatives %v", l.Logprob, l.Top)
			}
		}
	}
	if r.Sample.Logprobs && entries != res.done.OutputTokens {
		t.Errorf("%d log-probabilities of %d tokens", entries, res.done.OutputTokens)
	}
}

// TestForms: each form is kept to, and a reply that is whole ends.
func TestForms(t *testing.T) {
	e := open(t, engine.Options{})
	for _, tt := range []struct {
		name string
		c    engine.Constraint
		want string
	}{
		{"regex", engine.Constraint{Form: engine.FormRegex, Source: `(cat|dog)s? [0-9]{2}`}, `^(cat|dog)s? [0-9]{2}$`},
		{"choice", engine.Constraint{Form: engine.FormChoice, Choices: []string{"yes", "no", "yes, but"}}, `^(yes|no|yes, but)$`},
		{"empty choice", engine.Constraint{Form: engine.FormChoice, Choices: []string{""}}, `^$`},
		{"grammar", engine.Constraint{Form: engine.FormGrammar, Source: "root ::= \"<\" [a-f]{3,5} \">\" <|im_start|>"}, `^<[a-f]{3,5}>$`},
	} {
		for _, temperature := range []float32{0, 1} {
			r := engine.GenerateRequest{Prompt: user("Hello"), MaxTokens: 60, Constraint: &tt.c, Sample: sample.Params{Temperature: temperature, Seed: 3}}
			res, err := gather(t.Context(), e, "", r)
			if err != nil || !regexp.MustCompile(tt.want).MatchString(res.text[0]) || res.reason[0] != engine.ReasonStop {
				t.Errorf("%s at %v: %q (%v), %v; want %s", tt.name, temperature, res.text, res.reason, err, tt.want)
			}
		}
	}
	// Any object: at temperature 0 the built-in model may not come to an end.
	r := engine.GenerateRequest{Prompt: user("Hello"), MaxTokens: 300, N: 4, Constraint: &engine.Constraint{Form: engine.FormObject}, Sample: sample.Params{Temperature: 1, Seed: 3}}
	res, err := gather(t.Context(), e, "", r)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range res.text {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); (err == nil) != (res.reason[i] == engine.ReasonStop) || !strings.HasPrefix(text, "{") {
			t.Errorf("object %d: %q (%s): %v", i, text, res.reason[i], err)
		}
	}
}

// TestCutOff: a limit cuts the reply, and says so.
func TestCutOff(t *testing.T) {
	e := open(t, engine.Options{})
	r := engine.GenerateRequest{Prompt: user("Hello"), MaxTokens: 3, Constraint: schemaOf(`{"type":"string","pattern":"^(abcdefghij){20}$"}`)}
	res, err := gather(t.Context(), e, "", r)
	if err != nil || res.reason[0] != engine.ReasonLength || res.done.OutputTokens != 3 || !strings.HasPrefix(`"`+strings.Repeat("abcdefghij", 20), res.text[0]) {
		t.Errorf("got %q (%v), %d tokens, %v", res.text, res.reason, res.done.OutputTokens, err)
	}
}

// TestStopStrings: they work within a form.
func TestStopInForm(t *testing.T) {
	e := open(t, engine.Options{})
	r := engine.GenerateRequest{Prompt: user("Hello"), MaxTokens: 300, Stop: []string{"fgh"}, Constraint: schemaOf(`{"const":"abcdefghij"}`)}
	res, err := gather(t.Context(), e, "", r)
	if err != nil || res.text[0] != `"abcde` || res.reason[0] != engine.ReasonStop {
		t.Errorf("got %q (%v), %v", res.text, res.reason, err)
	}
}

// TestRefusedForms: what cannot be kept to is refused by name before anything is
// generated, by CheckConstraint and by Generate alike.
func TestRefusedForms(t *testing.T) {
	e := open(t, engine.Options{})
	long := strings.Repeat("n", 1<<16)
	for _, tt := range []struct {
		name   string
		c      engine.Constraint
		code   engine.Code
		param  string
		reason string
	}{
		{"not JSON", engine.Constraint{Form: engine.FormSchema, Source: `{"type":`}, engine.CodeInvalidSchema, "p", "not JSON"},
		{"pointer", engine.Constraint{Form: engine.FormSchema, Source: `{"properties":{"a":{"pattern":"(?=x)"}}}`}, engine.CodeInvalidSchema, "p/properties/a/pattern", "pattern"},
		{"type", engine.Constraint{Form: engine.FormSchema, Source: `{"properties":{"a/b":{"type":"text"}}}`}, engine.CodeInvalidSchema, "p/properties/a~1b/type", "type"},
		{"nothing", engine.Constraint{Form: engine.FormSchema, Source: `false`}, engine.CodeInvalidSchema, "p", "no "},
		{"strict", engine.Constraint{Form: engine.FormSchema, Source: `{"type":"string","format":"path"}`, Strict: true}, engine.CodeInvalidSchema, "p/format", "format"},
		{"long names", engine.Constraint{Form: engine.FormSchema, Source: `{"` + long + `":[` + strings.Repeat("1,", 1<<16) + `1]}`}, engine.CodeInvalidSchema, "p", "shorter names"},
		{"huge", engine.Constraint{Form: engine.FormSchema, Source: strings.Repeat(" ", 2<<20)}, engine.CodeInvalidSchema, "p", "at most 1048576"},
		{"grammar", engine.Constraint{Form: engine.FormGrammar, Source: "root ::= other"}, engine.CodeInvalidGrammar, "p", "other"},
		{"token", engine.Constraint{Form: engine.FormGrammar, Source: "root ::= <|nobody|>"}, engine.CodeInvalidGrammar, "p", "nobody"},
		{"endless", engine.Constraint{Form: engine.FormGrammar, Source: "root ::= \"a\" root"}, engine.CodeInvalidGrammar, "p", "no reply"},
		{"costly", engine.Constraint{Form: engine.FormGrammar, Source: "root ::= " + strings.Repeat(`"a" | `, 120_000) + `"b"`}, engine.CodeInvalidGrammar, "p", ""},
		{"regex", engine.Constraint{Form: engine.FormRegex, Source: `(a)\1`}, engine.CodeInvalidGrammar, "p", "back reference"},
		{"no choice", engine.Constraint{Form: engine.FormChoice}, engine.CodeInvalidGrammar, "p", "at least one"},
		{"unknown", engine.Constraint{Form: "sonnet"}, engine.CodeInvalidGrammar, "p", "sonnet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Param = "p"
			_, err := with(t.Context(), e, "", engine.KindChat, func(l engine.Lease) ([]string, error) { return l.CheckConstraint(t.Context(), &tt.c) })
			res, again := gather(t.Context(), e, "", engine.GenerateRequest{Prompt: user("Hello"), MaxTokens: 2, Constraint: &tt.c})
			for _, err := range []error{err, again} {
				var told *engine.Error
				if !errors.As(err, &told) {
					t.Fatalf("got %v, want a refusal", err)
				}
				if told.Code != tt.code || told.Param != tt.param || !strings.Contains(told.Message, tt.reason) || len(told.Message) > 1000 {
					t.Errorf("got %s, %q: %s; want %s, %q, %s", told.Code, told.Param, told.Message, tt.code, tt.param, tt.reason)
				}
			}
			if len(res.events) > 0 && again != nil {
				t.Errorf("%d events before the refusal", len(res.events))
			}
		})
	}
}

// TestNotes: keywords of a schema without effect are notes, not errors.
func TestNotes(t *testing.T) {
	e := open(t, engine.Options{})
	notes, err := with(t.Context(), e, "", engine.KindChat, func(l engine.Lease) ([]string, error) {
		return l.CheckConstraint(t.Context(), schemaOf(`{"type":"string","format":"path","maxLength":3}`))
	})
	if err != nil || !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "path") }) {
		t.Errorf("got %q, %v", notes, err)
	}
}

// TestBarredByForm: bias that bars all a form allows is an error, and no reply of another
// form.
func TestBarredByForm(t *testing.T) {
	e := open(t, engine.Options{})
	tokens, err := e.Tokenize(t.Context(), "", engine.TokenizeRequest{Prompt: engine.Prompt{Text: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	bias := map[int32]float32{}
	for id := range int32(1 << 16) {
		if len(tokens.Bytes(id)) > 0 && tokens.Bytes(id)[0] == 'x' {
			bias[id] = -100
		}
	}
	r := engine.GenerateRequest{Prompt: user("Hello"), MaxTokens: 9, Constraint: &engine.Constraint{Form: engine.FormChoice, Choices: []string{"axx"}}, Sample: sample.Params{Bias: bias}}
	res, err := gather(t.Context(), e, "", r)
	var told *engine.Error
	if !errors.As(err, &told) || told.Code != engine.CodeEngineFailure || !strings.Contains(told.Message, "logit_bias") {
		t.Errorf("got %q, %v", res.text, err)
	}
}
