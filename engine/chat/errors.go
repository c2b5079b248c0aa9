package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"quern/engine/chat/internal/jinja"
)

var (
	// ErrNoTemplate means that the model file has no chat template, so the
	// model cannot chat.
	ErrNoTemplate = errors.New("chat: the model has no chat template")
	// ErrFormat is wrapped by the error for a template that is not Jinja.
	ErrFormat = errors.New("chat: malformed chat template")
	// ErrUnsupported is wrapped by the error for a template that uses what no
	// chat template should, such as include.
	ErrUnsupported = errors.New("chat: unsupported chat template")
	// ErrRequest is wrapped by the error for a Request that no template could
	// render: it contradicts itself or holds malformed JSON.
	ErrRequest = errors.New("chat: invalid conversation")
)

// A TemplateError says that a template refused a conversation or broke on it.
// Nothing else can be done with the conversation: there is no other format to
// fall back to.
type TemplateError struct {
	// Message is in the template's own words if it refused. It may quote the
	// conversation, so it belongs in the answer and not in a log.
	Message string
	// Raised reports whether the template refused on purpose.
	Raised bool

	err error
}

func (e *TemplateError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *TemplateError) Unwrap() error { return e.err }

// templateError wraps an error of jinja's Render. A template may break on arguments that are no
// object, and cannot say so.
func templateError(err error, messages []Message) error {
	if raised, ok := errors.AsType[*jinja.RaiseError](err); ok {
		return &TemplateError{Message: raised.Message, Raised: true, err: err}
	}
	text := err.Error()
	if errors.Is(err, jinja.ErrLimit) {
		text = strings.TrimPrefix(text, jinja.ErrLimit.Error()+": ")
	}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			var object map[string]json.RawMessage
			if json.Unmarshal([]byte(c.arguments()), &object) != nil || object == nil {
				text += fmt.Sprintf("; the arguments of the call of %.60q are no JSON object: send one", c.Name)
				return &TemplateError{Message: text, err: err}
			}
		}
	}
	return &TemplateError{Message: text, err: err}
}
