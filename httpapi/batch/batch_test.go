package batch_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"quern/httpapi/batch"
)

const chat = "/v1/chat/completions"

func ask(id, model string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions","body":{"model":%q,"messages":[]}}`, id, model)
}

func TestCheckLines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		text  string
		lines int
		want  []string // code, line and param of each error
	}{
		{"good", ask("a", "m") + "\n" + ask("b", "m") + "\n", 2, nil},
		{"no newline at the end", ask("a", "m"), 1, nil},
		{"blank lines and a mark", "\xef\xbb\xbf\n" + ask("a", "m") + "\r\n\n  \n" + ask("b", "m") + "\n\n", 2, nil},
		{"empty", "", 0, []string{"empty_file 0 "}},
		{"blank", " \n\n", 0, []string{"empty_file 0 "}},
		{"no JSON", ask("a", "m") + "\n{nonsense\n", 2, []string{"invalid_json_line 2 "}},
		{"no UTF-8", "{\"custom_id\":\"\xff\"}", 1, []string{"invalid_json_line 1 "}},
		{"a list", "[]", 1, []string{"invalid_request 1 "}},
		{"a number as custom_id", `{"custom_id":1}`, 1, []string{"invalid_request 1 "}},
		{"no custom_id", strings.Replace(ask("a", "m"), "custom_id", "id", 1), 1, []string{"missing_required_parameter 1 custom_id"}},
		{"empty custom_id", ask("", "m"), 1, []string{"missing_required_parameter 1 custom_id"}},
		{"repeated custom_id", ask("a", "m") + "\n\n" + ask("b", "m") + "\n" + ask("a", "m"), 3, []string{"duplicate_custom_id 4 custom_id"}},
		{"long custom_id", ask(strings.Repeat("x", 513), "m"), 1, []string{"invalid_request 1 custom_id"}},
		{"no body", `{"custom_id":"a","method":"POST","url":"/v1/chat/completions"}`, 1, []string{"missing_required_parameter 1 body"}},
		{"body is text", `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":"x"}`, 1, []string{"missing_required_parameter 1 body"}},
		{"model is a number", strings.Replace(ask("a", "m"), `"m"`, "1", 1), 1, []string{"invalid_request 1 model"}},
		{"GET", strings.Replace(ask("a", "m"), "POST", "GET", 1), 1, []string{"invalid_method 1 method"}},
		{"another endpoint", ask("a", "m") + "\n" + strings.Replace(ask("b", "m"), "chat/completions", "embeddings", 1), 2, []string{"invalid_url 2 url"}},
		{"another model", ask("a", "m") + "\n" + ask("b", "n") + "\n" + ask("c", "m"), 3, []string{"mismatched_model 2 model"}},
		{"streamed", strings.Replace(ask("a", "m"), `"messages"`, `"stream":true,"messages"`, 1), 1, []string{"invalid_request 1 stream"}},
		{"in the background", strings.Replace(ask("a", "m"), `"messages"`, `"background":true,"messages"`, 1), 1, []string{"invalid_request 1 background"}},
		{"too long", ask("a", "m") + "\n" + ask("b", strings.Repeat("m", 1000)) + "\n" + ask("c", "m"), 3, []string{"line_too_long 2 "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := batch.CheckLines(strings.NewReader(tt.text), chat, 900)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range c.Errors {
				n, p := 0, ""
				if e.Line != nil {
					n = *e.Line
				}
				if e.Param != nil {
					p = *e.Param
				}
				got = append(got, fmt.Sprintf("%s %d %s", e.Code, n, p))
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) || c.Lines != tt.lines {
				t.Errorf("%d lines, errors %q; want %d, %q", c.Lines, got, tt.lines, tt.want)
			}
		})
	}
}

func TestTranscriptionLine(t *testing.T) {
	const form = `{"custom_id":"a","method":"POST","url":"/v1/audio/transcriptions","body":{%s}}`
	for body, ok := range map[string]bool{`"file":"file-1"`: true, `"file":1`: false, `"file":""`: false, ``: false} {
		if _, e := batch.ParseLine(1, fmt.Appendf(nil, form, body)); (e == nil) != ok {
			t.Errorf("%s: %v", body, e)
		}
	}
}

func TestTooManyLines(t *testing.T) {
	most := strings.Repeat("x\n", batch.MaxLines)
	for _, tt := range []struct {
		text    string
		counted error
		code    string
	}{{most, nil, "invalid_json_line"}, {most + "y", nil, "too_many_lines"}, {most + "y\n", batch.ErrLines, "too_many_lines"}} {
		if _, err := io.Copy(io.Discard, &batch.LineCounter{R: strings.NewReader(tt.text)}); !errors.Is(err, tt.counted) {
			t.Errorf("counting gave %v, want %v", err, tt.counted)
		}
		c, err := batch.CheckLines(strings.NewReader(tt.text), chat, 100)
		if err != nil || c.Errors[0].Code != tt.code || len(c.Errors) > 101 {
			t.Errorf("%v, %d errors, the first %+v; want %s", err, len(c.Errors), c.Errors[0], tt.code)
		}
	}
}

func TestResult(t *testing.T) {
	for _, tt := range []struct {
		a    batch.Answer
		want string
	}{
		{batch.Answer{Status: 200, RequestID: "r", JSON: true, Body: []byte("{\"a\":\"<b>\"}\n")}, `{"id":"i","custom_id":"c","response":{"status_code":200,"request_id":"r","body":{"a":"<b>"}},"error":null}`},
		{batch.Answer{Status: 200, RequestID: "r", Body: []byte("1\n00:00")}, `{"id":"i","custom_id":"c","response":{"status_code":200,"request_id":"r","body":"1\n00:00"},"error":null}`},
		{batch.Answer{Status: 200, RequestID: "r", Body: []byte("a"), Warnings: []string{"cut", "silent"}}, `{"id":"i","custom_id":"c","response":{"status_code":200,"request_id":"r","body":"a","warnings":["cut","silent"]},"error":null}`},
	} {
		got, err := batch.Result("i", "c", tt.a)
		if err != nil || string(got) != tt.want+"\n" {
			t.Errorf("got %s, %v; want %s", got, err, tt.want)
		}
	}
}

// FuzzCheckLines: no file makes it fail, every line is reported or good, and nothing is kept
// beyond what was sent.
func FuzzCheckLines(f *testing.F) {
	f.Add([]byte(ask("a", "m") + "\n" + ask("b", "m")))
	f.Add([]byte("{}\n[]\n\"\"\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := batch.CheckLines(strings.NewReader(string(text)), chat, 200)
		if err != nil {
			t.Fatal(err)
		}
		bad := map[int]bool{}
		for _, e := range c.Errors {
			if e.Line != nil {
				bad[*e.Line] = true
			}
		}
		if len(c.Errors) > 101 {
			t.Fatalf("%d errors", len(c.Errors))
		}
		n := 0
		if err := batch.EachLine(strings.NewReader(string(text)), 200, func(at int, raw []byte) error {
			n++
			if raw == nil || len(raw) > 201 {
				if len(raw) > 201 {
					t.Errorf("line %d has %d bytes", at, len(raw))
				}
				return nil
			}
			if _, e := batch.ParseLine(at, raw); e != nil && !bad[at] && len(c.Errors) < 100 {
				t.Errorf("line %d is wrong (%s) and nothing was told", at, e.Message)
			}
			return nil
		}); err != nil && err != batch.ErrLines {
			t.Fatal(err)
		}
		if n != c.Lines && c.Lines <= batch.MaxLines {
			t.Errorf("%d lines, %d checked", n, c.Lines)
		}
	})
}
