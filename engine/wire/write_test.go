package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestWrite reads what every format writes.
func TestWrite(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"on":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string"}},"at":{"type":"object","properties":{"x":{"type":"number"}}}}}`)
	tools := []Tool{{"get_weather", schema}, {"get_time", schema}}
	for _, name := range Names() {
		f, _ := Find(name)
		if name == "none" {
			continue
		}
		calls := []Call{
			{Name: "get_weather", Arguments: `{"city": "Oslo, \"by\" the\nsea", "days": 3, "on": true, "tags": ["a", "b"], "at": {"x": -1.5}}`},
			{Name: "get_time", Arguments: `{"city":"Bergen"}`},
			{Name: "get_time", Arguments: `{}`},
		}
		for i := range calls {
			calls[i].ID = "123456789"
			if f.ID == IDNamed {
				calls[i].ID = "functions." + calls[i].Name + ":7"
			}
		}
		// What the format cannot write after another call.
		if f.Sep == "" && f.Bare != BareNever && !f.inList() || f.Channel != nil && !f.Channel.Args {
			calls = calls[:1]
		}
		text, err := f.Write(calls)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		opt := Options{Tools: tools, Random: func() uint64 { return 0 }}
		if f.Channel != nil {
			opt.Prompt = f.Channel.Start
		}
		got := Collect(feed(t, NewSyntax(f, nil).NewReader(opt), []token{{text, false}}))
		if got.Content != "" || got.Reasoning != "" || len(got.Calls) != len(calls) {
			t.Errorf("%s: %q is read as %+v", name, text, got)
			continue
		}
		for i, c := range calls {
			var a, b any
			_ = json.Unmarshal([]byte(c.Arguments), &a)
			if err := json.Unmarshal([]byte(got.Calls[i].Arguments), &b); err != nil || got.Calls[i].Name != c.Name || !reflect.DeepEqual(a, b) {
				t.Errorf("%s: %q is read as %+v, want %+v", name, text, got.Calls[i], c)
			}
		}
	}
}
