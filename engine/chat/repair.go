package chat

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// A repair is a change to a conversation a template refused, one that keeps
// every word and the order of the turns.
type repair uint8

const (
	repairSystem repair = iota // system messages merged into one at the front
	repairTurns                // turns of one role in a row merged into one
	repairBoth
	repairs
)

func (t *Template) logRepair(ctx context.Context, r repair) {
	what := [repairs]string{"late system messages", "two turns of one role in a row", "late system messages and two turns of one role in a row"}
	t.once[r].Do(func() {
		t.opt.Log.InfoContext(ctx, "chat template refuses some conversations; merging messages", "model", t.opt.Model, "refuses", what[r])
	})
}

// A rewrite is a conversation after a repair.
type rewrite struct {
	repair   repair
	messages []Message
}

// repaired yields the repairs that change something, gentlest first.
func repaired(messages []Message) iter.Seq[rewrite] {
	return func(yield func(rewrite) bool) {
		system, late := mergeSystem(messages)
		if late && !yield(rewrite{repairSystem, system}) {
			return
		}
		if turns, ok := mergeTurns(messages); ok && !yield(rewrite{repairTurns, turns}) {
			return
		}
		if late {
			if both, ok := mergeTurns(system); ok {
				yield(rewrite{repairBoth, both})
			}
		}
	}
}

// mergeSystem merges all system messages into one at the front. It reports
// whether any was elsewhere.
func mergeSystem(messages []Message) ([]Message, bool) {
	isSystem := func(m Message) bool { return m.Role == RoleSystem }
	if !slices.ContainsFunc(messages[1:], isSystem) {
		return messages, false
	}
	var system []Message
	rest := make([]Message, 1, len(messages)+1)
	for _, m := range messages {
		if isSystem(m) {
			system = append(system, m)
		} else {
			rest = append(rest, m)
		}
	}
	rest[0] = merge(system)
	return rest, true
}

// mergeTurns merges turns of one role that follow each other. Results of
// several tools are separate turns by nature and stay so.
func mergeTurns(messages []Message) ([]Message, bool) {
	out := make([]Message, 0, len(messages))
	for rest := messages; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Role == rest[0].Role && rest[0].Role != RoleTool {
			n++
		}
		out = append(out, merge(rest[:n]))
		rest = rest[n:]
	}
	return out, len(out) < len(messages)
}

// merge makes one message of several, with a blank line between their texts. It
// is the first in all else.
func merge(list []Message) Message {
	out := list[0]
	if len(list) == 1 {
		return out
	}
	var texts, reasoning []string
	var parts []Part
	add := func(more []Part) {
		if len(parts) > 0 && len(more) > 0 {
			parts = append(parts, Part{Text: gap})
		}
		parts = append(parts, more...)
	}
	inParts := false
	out.ToolCalls = slices.Clip(out.ToolCalls)
	for i, m := range list {
		if i > 0 {
			out.ToolCalls = append(out.ToolCalls, m.ToolCalls...)
		}
		out.NoContent = out.NoContent && m.NoContent
		reasoning = append(reasoning, m.Reasoning)
		switch {
		case m.NoContent:
		case inParts:
			add(m.parts())
		case m.Parts == nil:
			texts = append(texts, m.Text)
		default:
			inParts = true
			// The texts before are one part.
			add((&Message{Text: join(texts)}).parts())
			add(m.Parts)
		}
	}
	out.Reasoning = join(reasoning)
	out.Text, out.Parts = join(texts), parts
	if inParts {
		out.Text = ""
	}
	return out
}

// parts is the content as parts.
func (m *Message) parts() []Part {
	if m.Parts == nil && m.Text != "" {
		return []Part{{Text: m.Text}}
	}
	return m.Parts
}

// gap is a blank line.
const gap = "\n\n"

// join puts a blank line between texts that are not empty.
func join(texts []string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), gap)
}
