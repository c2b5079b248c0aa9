package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"quern/engine"
	"quern/engine/local"
	"quern/httpapi"
)

// newBuiltin serves the built-in model.
func newBuiltin(t *testing.T) *httptest.Server {
	t.Helper()
	return newBuiltinWith(t, "")
}

// newBuiltinWith serves the built-in model with another chat template than its own.
func newBuiltinWith(t *testing.T, template string) *httptest.Server {
	t.Helper()
	e, err := local.New(engine.Options{Device: "cpu", Threads: 1, Defaulted: engine.ModelOptions{ChatTemplate: template}})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, httpapi.Options{Engine: e})
	t.Cleanup(func() {
		s.Close()
		e.Close()
	})
	return s
}

// chatOf asks for a chat; more is what stands behind the messages.
func chatOf(more string) string {
	return `{"messages":[{"role":"user","content":"Where is Paris?"}],"max_tokens":200,"seed":7` + more + `}`
}

// A choiceOf is what either endpoint answers.
type choiceOf struct {
	Text    string
	Message struct{ Content string }
	Delta   struct{ Content string }
	Finish  string `json:"finish_reason"`
}

func (c choiceOf) String() string { return c.Text + c.Message.Content + c.Delta.Content }

const place = `{"type":"object","properties":{"city":{"type":"string","maxLength":9},"big":{"type":"boolean"}},"required":["city","big"],"additionalProperties":false}`

// forms are the ways to demand a form, and what replies then match.
var forms = map[string]string{
	`"response_format":{"type":"json_schema","json_schema":{"name":"place","strict":true,"schema":` + place + `}}`: `(?s)^\{\s*"city"\s*:.*"big"\s*:\s*(true|false)\s*\}$`,
	`"response_format":{"type":"json_object","schema":` + place + `}`:                                              `(?s)^\{\s*"city"\s*:.*"big"\s*:\s*(true|false)\s*\}$`,
	`"json_schema":{"const":["one",null]}`:                                                                         `^\[\s*"one"\s*,\s*null\s*\]$`,
	`"grammar":"root ::= \"<\" [a-c]{2} \">\""`:                                                                    `^<[a-c]{2}>$`,
	`"regex":"[0-9]{3}"`:                                             `^[0-9]{3}$`,
	`"guided_json":{"enum":["a","b"]}`:                               `^"[ab]"$`,
	`"guided_json":"{\"enum\":[\"a\",\"b\"]}"`:                       `^"[ab]"$`,
	`"guided_regex":"x{2,4}"`:                                        `^x{2,4}$`,
	`"guided_choice":["yes","no"]`:                                   `^(yes|no)$`,
	`"guided_grammar":"root ::= \"q\""`:                              `^q$`,
	`"structured_outputs":{"json":{"type":"boolean"}}`:               `^(true|false)$`,
	`"structured_outputs":{"regex":"z"}`:                             `^z$`,
	`"structured_outputs":{"choice":["left","right"]}`:               `^(left|right)$`,
	`"structured_outputs":{"grammar":"root ::= \"a\" | root \"b\""}`: `^ab*$`,
}

// TestReplyForms: both endpoints keep to each form, drawn or not, and a stream says what the
// plain answer does.
func TestReplyForms(t *testing.T) {
	s := newBuiltin(t)
	for form, want := range forms {
		for _, temperature := range []string{"0", "1"} {
			more := `,` + form + `,"temperature":` + temperature
			for path, body := range map[string]string{
				"/v1/chat/completions": chatOf(more),
				"/v1/completions":      `{"prompt":"Paris is","max_tokens":200,"seed":7` + more + `}`,
			} {
				r := post(t, s, path, body)
				b, _ := io.ReadAll(r.Body)
				var whole struct{ Choices []choiceOf }
				if err := json.Unmarshal(b, &whole); err != nil || r.StatusCode != 200 {
					t.Fatalf("%s %s: %d %s", path, body, r.StatusCode, b)
				}
				c := whole.Choices[0]
				if !regexp.MustCompile(want).MatchString(c.String()) || c.Finish != "stop" {
					t.Errorf("%s %s: %q (%s), want %s", path, body, c, c.Finish, want)
				}
				if got := streamedText(t, s, path, body); got != c.String() {
					t.Errorf("%s %s: the stream says %q, the answer %q", path, body, got, c)
				}
			}
		}
	}
}

func streamedText(t *testing.T, s *httptest.Server, path, body string) string {
	t.Helper()
	r := post(t, s, path, strings.TrimSuffix(body, "}")+`,"stream":true}`)
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(b)) {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var chunk struct{ Choices []choiceOf }
		if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.String())
		}
	}
	return text.String()
}

// TestAnyObject: json_object is an object, or the beginning of one that a limit cut.
func TestAnyObject(t *testing.T) {
	s := newBuiltin(t)
	for _, form := range []string{`"response_format":{"type":"json_object"}`, `"structured_outputs":{"json_object":true}`} {
		r := post(t, s, "/v1/chat/completions", chatOf(`,"n":3,`+form))
		var whole struct{ Choices []choiceOf }
		if err := json.NewDecoder(r.Body).Decode(&whole); err != nil || len(whole.Choices) != 3 {
			t.Fatal(whole, err)
		}
		for _, c := range whole.Choices {
			var object map[string]any
			if err := json.Unmarshal([]byte(c.String()), &object); (err == nil) != (c.Finish == "stop") || c.String()[0] != '{' {
				t.Errorf("%s: %q (%s): %v", form, c, c.Finish, err)
			}
		}
	}
}

// TestHostileForms: each is refused by its field, plain and streamed, and requests beside
// them do not notice.
func TestHostileForms(t *testing.T) {
	s := newBuiltin(t)
	deep := strings.Repeat(`{"items":`, 3000) + `{}` + strings.Repeat(`}`, 3000)
	var wg sync.WaitGroup
	for _, tt := range []struct{ form, code, param string }{
		{`"json_schema":{"properties":{"a":{"pattern":"(a)\\1"}}}`, "invalid_schema", "json_schema/properties/a/pattern"},
		{`"json_schema":{"$ref":"https://example.com/x"}`, "invalid_schema", "json_schema/$ref"},
		{`"json_schema":false`, "invalid_schema", "json_schema"},
		{`"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"nothing"}}}`, "invalid_schema", "response_format.json_schema.schema/type"},
		{`"response_format":{"type":"json_schema","json_schema":{"strict":true,"schema":{"type":"string","format":"path"}}}`, "invalid_schema", "response_format.json_schema.schema/format"},
		{`"guided_json":"{"`, "invalid_schema", "guided_json"},
		{`"grammar":"root ::= missing"`, "invalid_grammar", "grammar"},
		{`"grammar":"root ::= ` + strings.Repeat("(", 5000) + `"`, "invalid_grammar", "grammar"},
		{`"guided_regex":"` + strings.Repeat("(a|", 30000) + `"`, "invalid_grammar", "guided_regex"},
		{`"structured_outputs":{"regex":"(?<=a)b"}`, "invalid_grammar", "structured_outputs.regex"},
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			wg.Go(func() {
				wantFailure(t, post(t, s, "/v1/chat/completions", chatOf(`,`+tt.form+stream)), 400, tt.code, tt.param)
			})
		}
	}
	wg.Go(func() {
		r := post(t, s, "/v1/chat/completions", chatOf(`,"json_schema":`+deep))
		b, _ := io.ReadAll(r.Body)
		if r.StatusCode != 400 || !strings.Contains(string(b), "deep") || len(b) > 2000 {
			t.Errorf("nested deeply: %d %.300s", r.StatusCode, b)
		}
	})
	for i := range 5 {
		wg.Go(func() {
			r := post(t, s, "/v1/chat/completions", chatOf(fmt.Sprintf(`,"n":%d,"temperature":0`, 1+i%2)))
			var whole struct{ Choices []choiceOf }
			if err := json.NewDecoder(r.Body).Decode(&whole); err != nil || r.StatusCode != 200 || !strings.Contains(whole.Choices[0].String(), "Paris") {
				t.Errorf("beside them: %d, %v, %v", r.StatusCode, whole, err)
			}
		})
	}
	wg.Wait()
}

// TestSchemaWarnings: keywords of a schema that are read as comments are named in a header, in
// printable ASCII.
func TestSchemaWarnings(t *testing.T) {
	s := newBuiltin(t)
	for _, stream := range []string{"", `,"stream":true`} {
		r := post(t, s, "/v1/chat/completions", chatOf(`,"json_schema":{"type":"boolean","größe\n":1}`+stream))
		got := r.Header.Values(warningHeader)
		if r.StatusCode != 200 || len(got) != 1 || !strings.HasPrefix(got[0], "json_schema: ") || !strings.Contains(got[0], `gr\u00f6\u00dfe\n`) {
			t.Errorf("%d, warned %q", r.StatusCode, got)
		}
	}
}
