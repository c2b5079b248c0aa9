package chat

import (
	"context"
	"slices"
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

// repaired returns the repairs that change something, gentlest first.
func repaired(messages []Message) []rewrite {
	var out []rewrite
	system, late := mergeSystem(messages)
	if late {
		out = append(out, rewrite{repairSystem, system})
	}
	if turns, ok := mergeTurns(messages); ok {
		out = append(out, rewrite{repairTurns, turns})
	}
	if late {
		if both, ok := mergeTurns(system); ok {
			out = append(out, rewrite{repairBoth, both})
		}
	}
	return out
}

// mergeSystem merges all system messages into one at the front. It reports
// whether any was elsewhere.
func mergeSystem(messages []Message) ([]Message, bool) {
	if !slices.ContainsFunc(messages[1:], func(m Message) bool { return m.Role == RoleSystem }) {
		return messages, false
	}
	var system *Message
	rest := make([]Message, 1, len(messages)+1)
	for _, m := range messages {
		switch {
		case m.Role != RoleSystem:
			rest = append(rest, m)
		case system == nil:
			system = &m
		default:
			*system = merge(*system, m)
		}
	}
	rest[0] = *system
	return rest, true
}

// mergeTurns merges turns of one role that follow each other. Results of
// several tools are separate turns by nature and stay so.
func mergeTurns(messages []Message) ([]Message, bool) {
	out := make([]Message, 0, len(messages))
	for _, m := range messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role && m.Role != RoleTool {
			out[n-1] = merge(out[n-1], m)
			continue
		}
		out = append(out, m)
	}
	return out, len(out) < len(messages)
}

// merge appends b to a with a blank line between their texts.
func merge(a, b Message) Message {
	a.Reasoning = join(a.Reasoning, b.Reasoning)
	a.ToolCalls = append(slices.Clip(a.ToolCalls), b.ToolCalls...)
	switch {
	case b.NoContent:
		return a
	case a.NoContent:
		a.Text, a.Parts, a.NoContent = b.Text, b.Parts, false
		return a
	case a.Parts == nil && b.Parts == nil:
		a.Text = join(a.Text, b.Text)
		return a
	}
	parts := slices.Clone(a.parts())
	if len(parts) > 0 && len(b.parts()) > 0 {
		parts = append(parts, Part{Text: "\n\n"})
	}
	a.Parts, a.Text = append(parts, b.parts()...), ""
	return a
}

// parts is the content as parts.
func (m *Message) parts() []Part {
	if m.Parts == nil && m.Text != "" {
		return []Part{{Text: m.Text}}
	}
	return m.Parts
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
