// Package chat turns a conversation into the prompt a model was trained on.
//
// A model file carries a Jinja template; Template runs it and applies the
// repairs real clients and real templates need (see template.go).
package chat

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// Roles a message may have. "developer" is accepted as RoleSystem and
// "function" as RoleTool by the caller that builds Messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// A Message is one turn of a conversation.
type Message struct {
	Role       string
	Name       string // optional author name
	Text       string // the content when Parts is nil
	Parts      []Part // content given as parts, in order; nil when content was a plain string
	NoContent  bool   // content was null (assistant messages with tool calls)
	Reasoning  string // earlier thinking, assistant only
	ToolCalls  []Call // assistant only
	ToolCallID string // tool only
}

// A Part is one piece of a message's content. Only text exists so far.
type Part struct {
	Text string
}

// A Call is a function call an assistant message made.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON as the client sent it; rendered as an object when it parses as one
}

// arguments are those of the call, {} for one that has none: clients keep what they put
// together of a stream, which then is "".
func (c *Call) arguments() string {
	if strings.TrimSpace(c.Arguments) == "" {
		return "{}"
	}
	return c.Arguments
}

// MaxTools bounds the tools of one request.
const MaxTools = 128

// ToolName matches the names that tools may have; MaxToolName is how long they are in most
// dialects.
var ToolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`) })

const MaxToolName = 64

// A Tool is a function the model may call, as the client described it.
type Tool struct {
	Raw   json.RawMessage // the whole {"type":"function",…} object, key order kept
	Param string          // where the request has the schema of its arguments; "" is as OpenAI's chats have it
}
