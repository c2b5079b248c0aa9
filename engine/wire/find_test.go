package wire

import (
	"fmt"
	"strings"
	"testing"
)

// templates are renderers of formats that are in no table.
var templates = []struct {
	name string
	one  func(c Call, i int) string // a call
	open string                     // around all of them
	end  string
	sep  string
}{
	{"object", func(c Call, _ int) string {
		return fmt.Sprintf(`<invoke_tool>{"call": %q, "input": %s}</invoke_tool>`, c.Name, c.Arguments)
	}, "", "", "\n"},
	{"object with an id behind", func(c Call, _ int) string {
		return fmt.Sprintf(`{"fn": %q, "params": %s, "ref": %q}`, c.Name, c.Arguments, c.ID)
	}, "<<CALLS>>[", "]<</CALLS>>", ", "},
	{"name and object in a section", func(c Call, _ int) string {
		return "<one>" + c.Name + "<with>" + c.Arguments + "</one>"
	}, "<all>", "</all>", ""},
	{"name, id and object", func(c Call, _ int) string {
		return "<do>" + c.Name + "<ref>" + c.ID + "<with>" + c.Arguments + "</do>"
	}, "", "", ""},
	{"tags", func(c Call, _ int) string {
		out := "<use tool=\"" + c.Name + "\">\n"
		for _, m := range new(writer).members([]byte(c.Arguments)) {
			out += "<arg of=\"" + m.key + "\">" + strings.Trim(string(m.value), `"`) + "</arg>\n"
		}
		return out + "</use>"
	}, "<uses>\n", "\n</uses>", "\n"},
}

// TestDerive finds formats that are in no table, and reads with them what the
// template would print for other calls.
func TestDerive(t *testing.T) {
	for _, tt := range templates {
		t.Run(tt.name, func(t *testing.T) {
			write := func(calls []Call) string {
				var list []string
				for i, c := range calls {
					list = append(list, tt.one(c, i))
				}
				return tt.open + strings.Join(list, tt.sep) + tt.end
			}
			found := FindFormat("", func(s Sample) (string, bool) {
				out := "<user>" + SampleQuestion + "<bot>"
				if s.Tools {
					out = SampleTool + out
				}
				if !s.Answer {
					return out, true
				}
				if s.Reasoning != "" {
					out += "<reason>\n" + s.Reasoning + "\n</reason>\n"
				}
				out += s.Content
				if len(s.Calls) > 0 {
					out += write(s.Calls)
				}
				return out + "<end>", true
			})
			if !found.Derived || !found.Parallel || !found.Tools || !found.Calls || !found.Thinks {
				t.Fatalf("found %+v", found)
			}
			if len(found.Format.Section.Open) > 0 || tt.open == "" {
				if got := found.Format.Sep; strings.TrimSpace(got) != "" || (got == "") != (tt.sep == "") {
					t.Errorf("calls are parted by %q, want %q", got, tt.sep)
				}
			}
			calls := []Call{
				{"abc", "get_weather", `{"city": "Oslo", "when": "now"}`},
				{"def", "get_time", `{"zone": "UTC"}`},
			}
			tools := []Tool{{Name: "get_weather"}, {Name: "get_time"}}
			text := "<reason>\nHm.\n</reason>\nWait. " + write(calls)
			r := NewSyntax(found.Format, nil).NewReader(Options{Tools: tools, Random: func() uint64 { return 0 }})
			got := Collect(feed(t, r, []token{{text, false}}))
			if got.Content != "Wait." || got.Reasoning != "Hm." || len(got.Calls) != 2 {
				t.Fatalf("%+v reads %q as %+v", *found.Format, text, got)
			}
			for i, c := range calls {
				g := got.Calls[i]
				if g.Name != c.Name || strings.ReplaceAll(g.Arguments, " ", "") != strings.ReplaceAll(c.Arguments, " ", "") {
					t.Errorf("call %d is %+v, want %+v", i, g, c)
				}
				if strings.Contains(tt.one(c, i), c.ID) && g.ID != c.ID {
					t.Errorf("call %d has id %q, want %q", i, g.ID, c.ID)
				}
			}
		})
	}
}

// TestFindTable finds every row of the table by a template that prints what its
// models write.
func TestFindTable(t *testing.T) {
	for _, name := range Names() {
		row, _ := Find(name)
		t.Run(name, func(t *testing.T) {
			found := FindFormat(strings.Join(row.Hints, " "), func(s Sample) (string, bool) {
				out := "<user>" + SampleQuestion + "<bot>"
				if s.Tools && name != "none" {
					out = SampleTool + out
				}
				if row.Channel != nil {
					out += row.Channel.Start
				}
				if !s.Answer {
					return out, true
				}
				if s.Reasoning != "" && len(row.Think.Open) > 0 {
					out += row.Think.Open[0] + s.Reasoning + row.Think.Close
				}
				switch {
				case s.Content == "":
				case row.Channel != nil && row.Channel.Args:
					out += "<|channel|>final<|message|>" + s.Content
				case row.Channel != nil:
					out += " to=user<|message|>" + s.Content
				case len(row.Content) > 0:
					out += row.Content[0] + s.Content
				default:
					out += s.Content
				}
				if len(s.Calls) > 0 && name != "none" {
					calls := s.Calls
					for i := range calls {
						if row.ID == IDNamed {
							calls[i].ID = fmt.Sprintf("functions.%s:%d", calls[i].Name, i)
						}
					}
					text, err := row.Write(calls)
					if err != nil {
						t.Fatal(err)
					}
					out += text
				}
				return out + "<end>", true
			})
			if found.Format.Name != name || found.Derived {
				t.Errorf("found %s (derived %v)", found.Format.Name, found.Derived)
			}
		})
	}
}
