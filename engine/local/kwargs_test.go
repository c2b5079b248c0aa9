package local

import (
	"encoding/json"
	"errors"
	"testing"

	"quern/engine"
	"quern/engine/chat"
)

// What is wrong with a template's variable is said of chat_template_kwargs, not of the
// messages.
func TestKwargsAreNamed(t *testing.T) {
	e := open(t, engine.Options{})
	ask := func(kwargs map[string]json.RawMessage) error {
		_, err := e.Tokenize(t.Context(), "", engine.TokenizeRequest{Prompt: engine.Prompt{
			Messages: []chat.Message{{Role: chat.RoleUser, Text: "x"}}, Kwargs: kwargs,
		}})
		return err
	}
	if err := ask(map[string]json.RawMessage{"enable_thinking": json.RawMessage("false"), "own": json.RawMessage(`{"a":[1]}`)}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"messages", "tools", "bos_token", "add_generation_prompt"} {
		err := ask(map[string]json.RawMessage{"own": json.RawMessage("1"), name: json.RawMessage("[]")})
		var known *engine.Error
		if !errors.As(err, &known) || known.Code != engine.CodeInvalidValue || known.Param != "chat_template_kwargs."+name {
			t.Errorf("%s: %+v", name, err)
		}
	}
	var known *engine.Error
	if err := ask(map[string]json.RawMessage{"own": json.RawMessage("{")}); !errors.As(err, &known) || known.Param != "chat_template_kwargs.own" {
		t.Errorf("broken JSON: %+v", err)
	}
}
