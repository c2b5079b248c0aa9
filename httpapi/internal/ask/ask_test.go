package ask

import (
	"fmt"
	"strings"
	"testing"

	"quern/engine/chat"
	"quern/httpapi/internal/body"
)

// TestConversation: what the assistant thinks, says and calls in a row is one message.
func TestConversation(t *testing.T) {
	user := func(c *Conversation) { c.Say(chat.Message{Role: chat.RoleUser, Text: "u"}) }
	say := func(c *Conversation) { c.Say(chat.Message{Role: chat.RoleAssistant, Text: "a"}) }
	think := func(c *Conversation) { c.Think("t") }
	call := func(c *Conversation) { c.Call(chat.Call{ID: "c"}) }
	output := func(c *Conversation) { c.Output("c", "o") }
	for _, tt := range []struct {
		name  string
		steps []func(*Conversation)
		want  string
	}{
		{"words", []func(*Conversation){user, say, user}, "user u | assistant a | user u"},
		{"a whole turn", []func(*Conversation){user, think, say, call, call, output, output, say}, "user u | assistant a (t) 2 | tool o | tool o | assistant a"},
		{"thinking before a call", []func(*Conversation){think, call}, "assistant none (t) 1"},
		{"thinking twice", []func(*Conversation){think, think, say}, "assistant a (t\nt)"},
		{"thinking alone", []func(*Conversation){think, user}, "assistant (t) | user u"},
		{"thinking after words", []func(*Conversation){say, think, say}, "assistant a | assistant a (t)"},
		{"words after a call", []func(*Conversation){call, say}, "assistant none 1 | assistant a"},
		{"words twice", []func(*Conversation){say, say}, "assistant a | assistant a"},
		{"a call after words of the user", []func(*Conversation){user, call}, "user u | assistant none 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Conversation
			for _, step := range tt.steps {
				step(&c)
			}
			var got []string
			for _, m := range c.Messages {
				s := m.Role
				if m.Text != "" {
					s += " " + m.Text
				}
				if m.NoContent {
					s += " none"
				}
				if m.Reasoning != "" {
					s += " (" + m.Reasoning + ")"
				}
				if n := len(m.ToolCalls); n > 0 {
					s += fmt.Sprint(" ", n)
				}
				got = append(got, s)
			}
			if all := strings.Join(got, " | "); all != tt.want {
				t.Errorf("got %s, want %s", all, tt.want)
			}
		})
	}
}

// TestFunction: a tool of a dialect that keeps its members together is spelled as chats do.
func TestFunction(t *testing.T) {
	for _, tt := range []struct {
		name, sent string
		names      map[string]string
		want       string
	}{
		{"type is left out", `{"type":"function","name":"f","strict":true}`, map[string]string{"type": ""}, `{"type":"function","function":{"name":"f","strict":true}}`},
		{"another name", `{"name":"f","input_schema":{"type":"object"}}`, map[string]string{"input_schema": "parameters"}, `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`},
		{"nothing", `{}`, nil, `{"type":"function","function":{}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := body.Parse([]byte(tt.sent))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(Function(o, tt.names)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
