package openai

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// TestWeight: what a body is said to weigh is no less than what parsing and reading it
// allocates, garbage and all, however its bytes are spent.
func TestWeight(t *testing.T) {
	const size = 1 << 20
	list := func(item string) string {
		return strings.Repeat(item+",", size/(len(item)+1)) + item
	}
	fields := func(value string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(`"` + strconv.Itoa(i) + `":` + value + `,`)
		}
		return b.String() + `"x":1`
	}
	messages := func(o *body.Object) any { return readMessages(o) }
	prompts := func(o *body.Object) any { return readPrompts(o) }
	nothing := func(o *body.Object) any { return o }
	a := api{&server.API{}}
	a.Options.MaxN = 1
	sampling := func(o *body.Object) any { return a.readSampling(nil, o) }
	for _, tt := range []struct {
		name, text string
		read       func(*body.Object) any
	}{
		{"one text", `{"messages":[{"role":"user","content":"` + strings.Repeat("a", size) + `"}]}`, messages},
		{"escapes", `{"messages":[{"role":"user","content":"` + strings.Repeat(`\u00e9`, size/6) + `"}]}`, messages},
		{"messages", `{"messages":[` + list(`{"role":"user","content":""}`) + `]}`, messages},
		{"messages of a letter", `{"messages":[` + list(`{"role":"user","content":"a"}`) + `]}`, messages},
		{"messages and a name", `{"messages":[` + list(`{"role":"user","content":"a","name":"b"}`) + `]}`, messages},
		{"messages of a part", `{"messages":[` + list(`{"role":"user","content":[{"type":"text","text":"a"}]}`) + `]}`, messages},
		{"parts", `{"messages":[{"role":"user","content":[` + list(`{"type":"text","text":""}`) + `]}]}`, messages},
		{"calls", `{"messages":[{"role":"assistant","tool_calls":[` + list(`{"id":"a","function":{"name":"f"}}`) + `]}]}`, messages},
		{"fields", `{` + fields("1") + `}`, nothing},
		{"empty objects", `{` + fields("{}") + `}`, nothing},
		{"nested", `{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `,"b":[` + list("[[[]]]") + `]}`, nothing},
		{"tokens", `{"prompt":[` + list("1") + `]}`, prompts},
		{"lists of tokens", `{"prompt":[` + strings.Repeat("["+strings.Repeat("1,", 255)+"1],", 2047) + `[1]]}`, prompts},
		{"prompts", `{"prompt":[` + strings.Repeat(`"a",`, 2047) + `"a"]}`, prompts},
		{"token ids to stop at", `{"stop_token_ids":[` + list("1") + `]}`, sampling},
		{"logit_bias", `{"logit_bias":{` + strings.TrimSuffix(fields("1"), `,"x":1`) + `}}`, sampling},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w body.Weight
			w.Write([]byte(tt.text))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b := []byte(tt.text) // as it is read
			o, err := body.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			got := tt.read(o)
			runtime.ReadMemStats(&after)
			if err := o.Err(); err != nil {
				t.Fatal(err)
			}
			runtime.KeepAlive(got)
			const little = 512 << 10 // what a request takes anyway, and what unescaping takes for a moment
			took := int64(after.TotalAlloc - before.TotalAlloc)
			if took > w.Bytes+little {
				t.Errorf("%d bytes take %d, and weigh %d", len(tt.text), took, w.Bytes)
			}
			t.Logf("%d bytes take %d, and weigh %d", len(tt.text), took, w.Bytes)
		})
	}
}
