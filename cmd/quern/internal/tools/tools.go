// Package tools reads the functions that a model may call from a file, and runs the commands
// that answer its calls.
package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"quern/engine/chat"
)

// A Tool is a function that a model may call.
type Tool struct {
	chat.Tool
	Name    string
	Command []string      // a program and its arguments, not a line of a shell; nil where calls are only shown
	Limit   time.Duration // of one run of the command
}

// limit is how long a command may take.
const limit = time.Minute

// Read reads an array of tools as OpenAI's API has them, each with an optional member
// "command". The programs must be there.
func Read(data []byte) ([]Tool, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, errors.New("the tools must be an array")
		}
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	switch {
	case len(list) == 0:
		return nil, errors.New("no tools")
	case len(list) > chat.MaxTools:
		return nil, fmt.Errorf("%d tools; at most %d are supported", len(list), chat.MaxTools)
	}
	var out []Tool
	for i, raw := range list {
		t, err := readTool(raw)
		if err == nil && slices.ContainsFunc(out, func(o Tool) bool { return o.Name == t.Name }) {
			err = fmt.Errorf(".function.name: is the name of another tool: %q", t.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("tools[%d]%w", i, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// readTool reads one tool. Errors begin with the place in it.
func readTool(raw json.RawMessage) (Tool, error) {
	var t struct {
		Type     string          `json:"type"`
		Function json.RawMessage `json:"function"`
		Command  *[]string       `json:"command"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields() // a command that is misspelt would not run
	if err := d.Decode(&t); err != nil {
		return Tool{}, fmt.Errorf(": a tool has the members type, function and command: %w", err)
	}
	if t.Type != "function" {
		return Tool{}, fmt.Errorf(".type: must be \"function\", got %.60q", t.Type)
	}
	var f struct {
		Name       string `json:"name"`
		Parameters *struct {
			Type any `json:"type"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(t.Function, &f); err != nil {
		return Tool{}, fmt.Errorf(".function: %w", err)
	}
	if !chat.ToolName().MatchString(f.Name) || len(f.Name) > chat.MaxToolName {
		return Tool{}, fmt.Errorf(".function.name: must be 1 to 64 letters, digits, _ and -, got %.80q", f.Name)
	}
	if f.Parameters != nil && f.Parameters.Type != nil && f.Parameters.Type != "object" {
		return Tool{}, errors.New(".function.parameters.type: must be \"object\": a call's arguments are one")
	}
	out := Tool{Name: f.Name, Limit: limit}
	out.Raw = slices.Concat([]byte(`{"type":"function","function":`), t.Function, []byte("}"))
	if t.Command != nil {
		if out.Command = *t.Command; len(out.Command) == 0 {
			return Tool{}, errors.New(".command: must be a program and its arguments, as in [\"./weather\", \"--json\"]")
		}
		if _, err := exec.LookPath(out.Command[0]); err != nil {
			return Tool{}, fmt.Errorf(".command: %w", err)
		}
	}
	return out, nil
}

// Line is the command as a line to read: words that a shell would not take for one are
// quoted.
func (t *Tool) Line() string {
	words := make([]string, len(t.Command))
	for i, w := range t.Command {
		plain := func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=+,@%", r)
		}
		if words[i] = w; w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			words[i] = strconv.QuoteToGraphic(w)
		}
	}
	return strings.Join(words, " ")
}

// Show writes JSON that a model made on one line. What could hide from the reader, or look
// like something else, is escaped: control characters, marks of direction, blanks of no
// width. ok is false for what is no JSON.
func Show(w io.Writer, text string) (ok bool, err error) {
	var line bytes.Buffer
	if ok = json.Compact(&line, []byte(text)) == nil; !ok {
		line.Reset()
		line.WriteString(text)
	}
	var out strings.Builder
	for _, r := range line.String() {
		switch {
		case unicode.IsPrint(r): // of blanks only U+0020
			out.WriteRune(r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	_, err = io.WriteString(w, out.String())
	return ok, err
}
