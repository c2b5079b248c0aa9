package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Sample is a conversation to render: a question, and perhaps an answer.
type Sample struct {
	Tools     bool  // tools named like the calls of samples are shown
	Thinking  *bool // enable_thinking, where it is given
	Answer    bool  // there is an answer, with the text after it
	Reasoning string
	Content   string
	Calls     []Call
	Result    bool // the calls are answered
}

// A Renderer prints a sample as a template does, and reports whether that
// works. Without an answer the prompt for one is printed.
type Renderer func(Sample) (string, bool)

// A Found is the findings about a template.
type Found struct {
	// Format is a row of the table, or one of a known shape that was made of
	// the template's own markers.
	Format *Format
	// Derived says that it is no row of the table.
	Derived bool
	// Tools says that the template shows tools, Calls that it shows calls, and
	// Parallel that it shows several in one turn.
	Tools, Calls, Parallel bool
	// Thinks says that the template has thinking: it prints that of earlier
	// answers, or opens it in the prompt.
	Thinks bool
	// Switch says that enable_thinking changes the prompt.
	Switch bool
	// Opens says that the prompt opens thinking by itself.
	Opens bool
}

// Words that no template contains.
const (
	sampleText   = "quernText"
	sampleReason = "quernReason"
	sampleName   = "quernName"
	sampleKey    = "quernKey"
	sampleValue  = "quernValue"
	otherKey     = "quernOther"
	otherValue   = "quernWert"
	sampleID     = "quern1234"
	otherID      = "quern5678"
)

// SampleQuestion is the question of all samples.
const SampleQuestion = "quernQuestion"

// SampleTool is the tool of all samples, in the shape of OpenAI's API.
const SampleTool = `{"type": "function", "function": {"name": "` + sampleName + `", "description": "d", "parameters": {"type": "object", "properties": {"` +
	sampleKey + `": {"type": "string", "description": "d"}, "` + otherKey + `": {"type": "string", "description": "d"}}, "required": ["` + sampleKey + `"]}}}`

var sampleTools = []Tool{{sampleName, json.RawMessage(`{"type": "object", "properties": {"` + sampleKey + `": {"type": "string"}, "` + otherKey + `": {"type": "string"}}}`)}}

func sampleCall(id string, two bool) Call {
	args := `{"` + sampleKey + `": "` + sampleValue + `"`
	if two {
		args += `, "` + otherKey + `": "` + otherValue + `"`
	}
	return Call{ID: id, Name: sampleName, Arguments: args + "}"}
}

// A finder holds a template's outputs.
type finder struct {
	render Renderer
	source string // the template's
	all    string // everything that was printed
	found  Found

	prompt     string // for an answer, from the question on
	one, two   shown  // one call; with two arguments
	both       shown  // two calls
	start, end string // of thinking
}

// A shown is a template's output for calls: the part that differs from an
// answer in words, and what stands before it.
type shown struct {
	text, before string
}

// A row may need more of what stands before: markers that answers in words
// begin with too.
func (s shown) parts(row *Format) []string {
	if s.text == "" {
		return nil
	}
	out := []string{s.text}
	if c := row.Channel; c != nil {
		if i := strings.LastIndex(s.before, c.Start); i >= 0 {
			return []string{s.before[i+len(c.Start):] + s.text}
		}
	}
	if row.Primed != "" && strings.HasSuffix(s.before, row.Primed) {
		return []string{row.Primed + s.text}
	}
	before := s.before
	for range 3 {
		if !strings.HasSuffix(before, ">") {
			break
		}
		before = before[:max(0, strings.LastIndexByte(before, '<'))]
		out = append(out, s.before[len(before):]+s.text)
	}
	return out
}

// FindFormat finds out by rendering in which format the models of a template
// answer: by the differences between samples that differ in one thing.
//
// A row of the table is taken if it reads the calls the template prints, and of
// several the one whose markers stand in what was printed. A template that
// prints no calls is known by the tools' text. What no row reads is taken apart
// at the name, the arguments and the id.
//
// source is the template's own text. It counts where rendering shows nothing.
func FindFormat(source string, render Renderer) Found {
	f := &finder{render: render, source: source}
	f.thinking()
	f.calls()
	f.format()
	f.thinkingOf()
	return f.found
}

func (f *finder) print(s Sample) (string, bool) {
	text, ok := f.render(s)
	f.all += text + "\n"
	return text, ok
}

// differ returns what stands in b between what it has in common with a at both
// ends. It cuts no tag.
func differ(a, b string) shown {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if tag := strings.LastIndexByte(b[:i], '<'); tag > strings.LastIndexByte(b[:i], '>') {
		i = tag
	}
	end := len(b) - common(a[i:], b[i:])
	if strings.LastIndexByte(b[i:end], '<') > strings.LastIndexByte(b[i:end], '>') {
		end += strings.IndexByte(b[end:], '>') + 1
	}
	return shown{b[i:end], b[:i]}
}

// common is the length of the end two texts share.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// thinking finds the markers of thinking, and what opens it.
func (f *finder) thinking() {
	on, off := true, false
	bare, _ := f.print(Sample{})
	with, okOn := f.print(Sample{Thinking: &on})
	without, okOff := f.print(Sample{Thinking: &off})
	f.found.Switch = okOn && okOff && with != without
	for _, s := range []Sample{
		{Answer: true, Reasoning: sampleReason, Content: sampleText},
		{Answer: true, Reasoning: sampleReason, Content: sampleText, Thinking: &on},
		{Answer: true, Reasoning: sampleReason, Calls: []Call{sampleCall(sampleID, false)}, Tools: true, Result: true},
	} {
		text, ok := f.print(s)
		head, tail, shown := strings.Cut(text, sampleReason)
		if !ok || !shown {
			continue
		}
		f.found.Thinks = true
		s.Reasoning = ""
		plain, _ := f.print(s)
		i := 0
		for i < len(plain) && i < len(head) && plain[i] == head[i] {
			i++
		}
		f.start, f.end = lastTag(head, i), firstTag(tail)
		if f.start != "" && f.end != "" {
			break
		}
	}
	f.prompt = bare[max(0, strings.LastIndex(bare, SampleQuestion)):]
}

// lastTag is the marker a text ends with, from a place on or, if the marker
// began before that, a little earlier.
func lastTag(text string, from int) string {
	text = strings.TrimRight(text, " \n")
	for _, open := range []string{"<", "["} {
		if i := strings.LastIndex(text, open); i >= 0 && len(text)-i < 40 && (strings.HasSuffix(text, ">") || strings.HasSuffix(text, "]") || i >= from) {
			return text[i:]
		}
	}
	return ""
}

// firstTag is the marker a text begins with.
func firstTag(text string) string {
	text = strings.TrimLeft(text, " \n")
	for _, c := range []string{"<>", "[]"} {
		if strings.HasPrefix(text, c[:1]) {
			if i := strings.IndexByte(text, c[1]); i > 0 && i < 40 {
				return text[:i+1]
			}
		}
	}
	return ""
}

// calls prints calls, and cuts them out.
func (f *finder) calls() {
	text, _ := f.print(Sample{Answer: true, Content: sampleText})
	toolText, _ := f.print(Sample{Answer: true, Content: sampleText, Tools: true})
	prompt, ok := f.print(Sample{Tools: true})
	f.found.Tools = ok && strings.Contains(prompt, sampleName)
	cut := func(calls ...Call) shown {
		for _, tools := range []bool{false, true} {
			plain := text
			if tools {
				plain = toolText
			}
			out, ok := f.print(Sample{Answer: true, Calls: calls, Tools: tools})
			if d := differ(plain, out); ok && strings.Contains(d.text, sampleValue) {
				return d
			}
		}
		return shown{}
	}
	f.one = cut(sampleCall(sampleID, false))
	f.two = cut(sampleCall(sampleID, true))
	f.both = cut(sampleCall(sampleID, false), sampleCall(otherID, false))
	f.found.Calls = f.one.text != ""
	f.found.Parallel = strings.Count(f.both.text, sampleName) > strings.Count(f.one.text, sampleName)
	f.print(Sample{Answer: true, Calls: []Call{sampleCall(sampleID, false)}, Tools: true, Result: true})
}

// reads reports whether a row reads what the template printed as the calls it
// was given.
func reads(f *Format, s shown, want []Call) bool {
	return slices.ContainsFunc(s.parts(f), func(text string) bool { return readsText(f, text, want) })
}

func readsText(f *Format, text string, want []Call) bool {
	opt := Options{Tools: sampleTools, Random: func() uint64 { return 0 }}
	if f.Channel != nil {
		opt.Prompt = f.Channel.Start
	}
	r := NewSyntax(f, nil).NewReader(opt)
	got := Collect(append(slices.Clone(r.Write([]byte(text))), r.Close()...))
	if len(got.Calls) != len(want) || strings.TrimSpace(got.Content) != "" {
		return false
	}
	for i, c := range got.Calls {
		var a, b map[string]any
		if c.Name != want[i].Name || json.Unmarshal([]byte(c.Arguments), &a) != nil || json.Unmarshal([]byte(want[i].Arguments), &b) != nil || len(a) != len(b) {
			return false
		}
		for key := range b {
			if a[key] != b[key] {
				return false
			}
		}
	}
	return true
}

// score is how well a row fits the output, 0 if it does not.
func (f *finder) score(row *Format) int {
	score := 0
	one, two := []Call{sampleCall(sampleID, false)}, []Call{sampleCall(sampleID, false), sampleCall(otherID, false)}
	if f.one.text != "" {
		// Alternatives of the usual pattern may have no marker; they prove
		// nothing.
		marked := func(s string) bool {
			return slices.ContainsFunc(f.one.parts(row), func(text string) bool { return strings.Contains(text, s) })
		}
		if len(row.Call) > 0 && row.Call[0].opener() != "" && !slices.ContainsFunc(row.Triggers(), marked) || !reads(row, f.one, one) {
			return 0
		}
		score = 100
		if reads(row, f.two, []Call{sampleCall(sampleID, true)}) {
			score += 20
		}
		if f.found.Parallel && reads(row, f.both, two) {
			score += 20
		}
		if text, err := row.Write(one); err == nil && strings.TrimSpace(text) == strings.TrimSpace(f.one.text) {
			score += 10
		}
		if row.Channel == nil && (row.Call == nil || row.Call[0].opener() == "") {
			score -= 50
		}
	} else {
		// The tools' text, or the template, has to name the marker a call
		// begins with, or to be known for what it says.
		for weight, text := range []string{f.source, f.all} {
			if slices.ContainsFunc(append(row.usual(), row.Hints...), func(s string) bool { return strings.Contains(text, s) }) {
				score = 10 + 10*weight
			}
		}
		if score == 0 {
			return 0
		}
	}
	// Markers in the template's output.
	seen := func(weight int, texts ...string) {
		for _, text := range texts {
			if text != "" && (strings.Contains(f.all, text) || strings.Contains(f.source, text)) {
				score += weight
			}
		}
	}
	seen(3, row.Hints...)
	seen(1, row.Think.Open...)
	seen(1, row.Think.Close, row.Think.Prompt)
	seen(1, row.Content...)
	seen(1, row.Drop...)
	return score
}

// usual are the markers that identify the format where nothing else does: not
// those of alternatives, and none that words may hold.
func (f *Format) usual() []string {
	out := slices.Clone(f.Section.Open)
	if len(f.Call) > 0 {
		out = append(out, f.Call[0].opener())
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < 4 })
}

// format picks a row, or makes one.
func (f *finder) format() {
	best := 0
	for i := range formats {
		if s := f.score(&formats[i]); s > best {
			best, f.found.Format = s, &formats[i]
		}
	}
	if f.found.Format != nil {
		return
	}
	if made := f.derive(); made != nil {
		f.found.Format, f.found.Derived = made, true
		return
	}
	name := "none"
	if f.found.Tools {
		name = "bare-json"
	}
	f.found.Format, _ = Find(name)
}

// thinkingOf checks the row's markers of thinking, and puts the template's own
// in their place where they differ.
func (f *finder) thinkingOf() {
	row := f.found.Format
	f.found.Opens = row.OpensThinking(f.prompt)
	has := func(text string) bool {
		return slices.ContainsFunc(row.Think.Open, func(s string) bool { return strings.TrimSpace(s) == text })
	}
	if f.start != "" && f.end != "" && row.Channel == nil && row.Think.Close != f.end && !has(f.start) &&
		(row.Think.Close == "" || !strings.Contains(f.all, row.Think.Close)) {
		own := *row
		own.Think = Think{Open: []string{f.start}, Close: f.end}
		f.found.Format, f.found.Derived = &own, true
		f.found.Opens = own.OpensThinking(f.prompt)
	}
	if !f.found.Thinks {
		f.found.Thinks = f.found.Opens || f.found.Switch
	}
}
