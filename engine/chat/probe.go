package chat

import (
	"context"
	"strings"

	"quern/engine/chat/internal/jinja"
)

// Words that no template contains, to look for in its output.
const (
	needle    = "quernNeedle"
	needleKey = "quernKey"
	probeID   = "quern1234" // nine letters and digits, which every template takes
)

// A probe is a few lines of text, for which real templates take less than ten
// thousand steps. There are about forty probes, so that a hostile template
// holds up loading for a second at most.
const (
	probeSteps = 100_000
	probeBytes = 1 << 20
)

// probe finds the message shapes that the template takes by rendering small conversations.
// There is no other way: templates do not declare it. A conversation that
// cannot be rendered in any shape says nothing, and the defaults stay.
func (t *Template) probe() {
	p := prober{t}
	t.wants.omitNone = p.omitNone()
	w := wants{content: make(map[string]shape)}
	w.omitNone = t.wants.omitNone
	p.calls(&w)
	content := make(map[string]shape)
	for _, role := range []string{RoleSystem, RoleUser, RoleAssistant, RoleTool} {
		content[role] = p.shape(w, role)
	}
	w.content = content
	w.shortIDs = p.shortIDs(w)
	t.wants = w
}

type prober struct{ t *Template }

// render returns the template's output for messages in the given shapes,
// and whether it prints at all.
func (p prober) render(w wants, messages ...Message) (string, bool) {
	base, err := p.t.variables(context.Background(), &Request{Messages: messages})
	if err != nil {
		return "", false
	}
	list := make([]jinja.Value, len(messages))
	for i, m := range messages {
		list[i] = w.message(context.Background(), m, jinja.Outside)
	}
	out, err := p.t.run(base, list, jinja.Options{
		Now:      p.t.opt.Now,
		MaxSteps: probeSteps, MaxOutput: probeBytes, MaxMemory: 16 * probeBytes,
	})
	return out.String(), err == nil
}

// omitNone reports whether the template breaks on None where there are no
// tools or documents, and not on undefined names. Hugging Face passes None,
// but templates meant for tools only were never run without.
func (p prober) omitNone() bool {
	for _, messages := range [][]Message{
		{{Role: RoleUser, Text: "Hi"}},
		{{Role: RoleSystem, Text: "Be kind."}, {Role: RoleUser, Text: "Hi"}},
	} {
		p.t.wants.omitNone = false
		if _, ok := p.render(wants{}, messages...); ok {
			return false
		}
		p.t.wants.omitNone = true
		if _, ok := p.render(wants{}, messages...); ok {
			return true
		}
	}
	return false
}

// calling is a conversation with a tool call and its result.
func calling(id, result string) []Message {
	return []Message{
		{Role: RoleUser, Text: "Hi"},
		{Role: RoleAssistant, ToolCalls: []Call{{ID: id, Name: "f", Arguments: `{"` + needleKey + `": "` + needle + `"}`}}},
		{Role: RoleTool, Name: "f", ToolCallID: id, Text: result},
	}
}

// calls finds out how the template takes tool calls. Arguments are an object
// unless the template shows only strings: it may break on an object, or print
// it as Python would. The content beside a call is as the client sent it,
// unless the template shows the call only beside None, or only beside a
// string, or prints "None".
func (p prober) calls(w *wants) {
	kept := wants{}                 // in which it shows no calls, but can be kept from breaking
	for _, n := range []int{3, 2} { // a template may have calls but no results
		for _, w.stringArgs = range []bool{false, true} {
			noneWorks, noneShows := p.showsCall(*w, n, true)
			emptyWorks, emptyShows := p.showsCall(*w, n, false)
			switch {
			case noneShows && emptyShows:
				w.beside = besideAsSent
				return
			case noneShows:
				w.beside = besideNone
				return
			case emptyShows:
				w.beside = besideString
				return
			case emptyWorks && !noneWorks && kept.beside == besideAsSent:
				kept.beside, kept.stringArgs = besideString, w.stringArgs
			}
		}
	}
	w.beside, w.stringArgs = kept.beside, kept.stringArgs
}

// showsCall renders the first n messages of a conversation with a call beside
// None or an empty string. It reports whether that works, and whether the call
// with its arguments appears.
func (p prober) showsCall(w wants, n int, none bool) (works, shows bool) {
	messages := calling(probeID, "ok")[:n]
	messages[1].NoContent = none
	out, ok := p.render(w, messages...)
	if ok && none {
		messages[1].NoContent = false
		other, otherOK := p.render(w, messages...)
		ok = !otherOK || strings.Count(out, "None") <= strings.Count(other, "None")
	}
	return ok, ok && strings.Contains(out, needle) &&
		!strings.Contains(out, "{'"+needleKey+"'") && !strings.Contains(out, `{\"`+needleKey)
}

// shape finds out how the template takes the content of a role's messages.
func (p prober) shape(w wants, role string) shape {
	conversation := func() []Message {
		messages := []Message{{Role: RoleUser, Text: "Hi"}}
		switch role {
		case RoleSystem:
			messages = []Message{{Role: RoleSystem, Text: needle}, messages[0]}
		case RoleUser:
			messages[0].Text = needle
		case RoleAssistant:
			messages = append(messages, Message{Role: RoleAssistant, Text: needle}, messages[0])
		case RoleTool:
			messages = calling(probeID, needle+"Result")
		}
		return messages
	}
	word := needle
	if role == RoleTool {
		word = needle + "Result"
	}
	try := func(s shape) (string, bool) {
		// The shapes of the other roles may matter too: where parts are the
		// only way, they usually are for every role.
		for _, others := range []shape{shapeString, s} {
			w.content = map[string]shape{RoleSystem: others, RoleUser: others, RoleAssistant: others, RoleTool: others}
			w.content[role] = s
			if out, ok := p.render(w, conversation()...); ok && strings.Contains(out, word) {
				return out, true
			}
		}
		return "", false
	}
	asString, stringOK := try(shapeString)
	asParts, partsOK := try(shapeParts)
	// A template that just prints content prints a list as Python would.
	for _, quoted := range []string{"'text'", `"text"`} {
		if strings.Count(asParts, quoted) > strings.Count(asString, quoted) {
			partsOK = false
		}
	}
	switch {
	case partsOK && stringOK:
		return shapeEither
	case partsOK:
		return shapeParts
	}
	return shapeString
}

// shortIDs reports whether the template takes a conversation with a short id
// and not with a usual one.
func (p prober) shortIDs(w wants) bool {
	const usual = "call_quern0123456789abcdef"
	for _, n := range []int{3, 2} {
		if _, ok := p.render(w, calling(probeID, "ok")[:n]...); ok {
			_, long := p.render(w, calling(usual, "ok")[:n]...)
			return !long
		}
	}
	return false
}
