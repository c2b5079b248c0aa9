package chat

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// An expiring context ends when it was asked n times.
type expiring struct {
	context.Context
	n int
}

func (c *expiring) Err() error {
	if c.n--; c.n <= 0 {
		return context.Canceled
	}
	return nil
}

// A rendering ends with its context, and no repair is tried then.
func TestRenderStops(t *testing.T) {
	var list []Message
	for i := range 20000 {
		list = append(list, Message{Role: RoleUser, Text: fmt.Sprint(i)})
	}
	for name, source := range map[string]string{
		"long":    "{% for m in messages %}{{ m.content }}{% endfor %}",
		"refuses": "{% for m in messages %}{% if loop.index0 and loop.index0 % 2 == 0 and m.role == 'user' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}{% endfor %}",
	} {
		tmpl, err := New(source, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx := &expiring{t.Context(), 1 << 30}
		tmpl.Render(ctx, &Request{Messages: list})
		whole := 1<<30 - ctx.n
		if whole < len(list)/checkEvery {
			t.Errorf("%s: asked %d times over %d messages", name, whole, len(list))
		}
		for _, n := range []int{1, whole / 2, whole} {
			ctx := &expiring{t.Context(), n}
			_, err := tmpl.Render(ctx, &Request{Messages: list})
			var refused *TemplateError
			if !errors.Is(err, context.Canceled) || errors.As(err, &refused) || ctx.n < -8 {
				t.Errorf("%s: ended at question %d of %d: %v, after %d more", name, n, whole, err, -ctx.n)
			}
		}
	}
}

// Reading a client's JSON ends with its context.
func TestJSONStops(t *testing.T) {
	tmpl, err := New("{{ messages[0].content }}", Options{})
	if err != nil {
		t.Fatal(err)
	}
	long := []byte("[" + strings.Repeat("1,", 1<<17) + "1]")
	for name, req := range map[string]Request{
		"variable":  {Kwargs: []Kwarg{{"documents", long}}, Messages: []Message{{Role: RoleUser, Text: "a"}}},
		"tool":      {Tools: []Tool{{Raw: long}}, Messages: []Message{{Role: RoleUser, Text: "a"}}},
		"arguments": {Messages: []Message{{Role: RoleAssistant, ToolCalls: []Call{{Arguments: string(long)}}}}},
	} {
		whole := &expiring{t.Context(), 1 << 30}
		if _, err := tmpl.Render(whole, &req); err != nil {
			t.Fatal(err)
		}
		asked := 1<<30 - whole.n
		ctx := &expiring{t.Context(), asked / 2}
		_, err := tmpl.Render(ctx, &req)
		if asked < len(long)/4096 || err == nil || ctx.n < -8 {
			t.Errorf("%s: ended at question %d of %d: %v, after %d more", name, asked/2, asked, err, -ctx.n)
		}
	}
}

// Merging many messages is merging the first two, then the third, and so on.
func TestMerge(t *testing.T) {
	all := []Message{
		{Text: "a", Reasoning: "r", Name: "n"}, {}, {Text: "b"}, {NoContent: true, ToolCalls: []Call{{ID: "1"}}},
		{Parts: []Part{{"p"}, {"q"}}}, {Text: "c", Reasoning: "s"}, {Parts: []Part{}}, {NoContent: true, ToolCalls: []Call{{ID: "2"}}}, {Parts: []Part{{"z"}}},
	}
	for mask := range 1 << len(all) {
		var list []Message
		for i, m := range all {
			if mask>>i&1 == 1 {
				list = append(list, m)
			}
		}
		if len(list) < 2 {
			continue
		}
		want := list[0]
		for _, m := range list[1:] {
			want = merge([]Message{want, m})
		}
		if got := merge(list); got.text() != want.text() || len(got.Parts) != len(want.Parts) || got.NoContent != want.NoContent ||
			got.Reasoning != want.Reasoning || !reflect.DeepEqual(got.ToolCalls, want.ToolCalls) || got.Name != list[0].Name {
			t.Fatalf("merge of %+v is %+v, want %+v", list, got, want)
		}
	}
}

// What merging takes grows with the messages, not with their square.
func TestMergeIsLinear(t *testing.T) {
	list := []Message{{Role: RoleUser, Text: "q"}}
	for range 20000 {
		list = append(list, Message{Role: RoleSystem, Text: strings.Repeat("x", 50)})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range repaired(list) {
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("merging %d messages of 50 bytes allocates %d bytes", len(list), took)
	}
}
