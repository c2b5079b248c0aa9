package wire

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// sampleArgs are the sample's arguments as a template may print them.
var sampleArgs = regexp.MustCompile(`\{\s*"` + sampleKey + `"\s*:\s*"` + sampleValue + `"\s*\}`)

// derive makes a format of a known shape from the template's own markers: what
// stands around and between the name, the arguments and the id. It returns nil
// for other shapes, and for what does not read the calls it was made from.
func (f *finder) derive() *Format {
	if f.one.text == "" {
		return nil
	}
	made := &Format{Name: "derived", Families: "a template's own markers", Think: thinks}
	ok := false
	if at := sampleArgs.FindStringIndex(f.one.text); at != nil {
		ok = f.deriveObject(made, at) || f.deriveNamed(made, at)
	} else {
		ok = f.deriveTagged(made)
	}
	if !ok {
		return nil
	}
	f.deriveSection(made)
	if made.Call[0].opener() == "" && len(made.Section.Open) == 0 {
		made.Bare = BareAtStart
	}
	if !reads(made, f.one, []Call{sampleCall(sampleID, false)}) {
		return nil
	}
	return made
}

// deriveObject makes a format of call objects: an object that has the name and
// the arguments as members.
func (f *finder) deriveObject(made *Format, args []int) bool {
	for from := args[0] - 1; from >= 0; from-- {
		if f.one.text[from] != '{' {
			continue
		}
		var object map[string]json.RawMessage
		d := json.NewDecoder(strings.NewReader(f.one.text[from:]))
		if d.Decode(&object) != nil {
			continue
		}
		end := from + int(d.InputOffset())
		for key, value := range object {
			var text string
			_ = json.Unmarshal(value, &text)
			switch {
			case text == sampleName:
				made.Keys.Name = key
			case text == sampleID:
				made.Keys.ID = key
			case bytes.Contains(value, []byte(sampleValue)):
				made.Keys.Args = key
			}
		}
		if made.Keys.Args == sampleName && made.Keys.Name == "" {
			made.Keys = Keys{NameIsKey: true}
		}
		if !made.Keys.NameIsKey && (made.Keys.Name == "" || made.Keys.Args == "") {
			made.Keys = Keys{}
			continue
		}
		if id := made.Keys.ID; id != "" {
			made.Keys.IDLast = strings.Index(f.one.text, `"`+id+`"`) > args[0]
		}
		head, tail := f.one.text[:from], f.one.text[end:]
		place := "«object»"
		if h, ok := strings.CutSuffix(strings.TrimRight(head, " \n"), "["); ok && strings.HasPrefix(strings.TrimLeft(tail, " \n"), "]") {
			head, tail, place = h, strings.TrimLeft(tail, " \n")[1:], "«objects»"
		}
		made.Call = []Pattern{Pattern(head + place + tail)}
		return true
	}
	return false
}

// deriveNamed makes a format in which the name stands before the arguments.
func (f *finder) deriveNamed(made *Format, args []int) bool {
	head := f.one.text[:args[0]]
	if strings.Count(head, sampleName) != 1 || strings.Count(f.one.text, sampleName) != 1 {
		return false
	}
	head = strings.Replace(head, sampleName, "«name»", 1)
	head = strings.Replace(head, sampleID, "«id»", 1)
	if strings.Contains(head, "»«") {
		return false
	}
	made.Call = []Pattern{Pattern(head + "«args»" + f.one.text[args[1]:])}
	return true
}

// deriveTagged makes a format in which the arguments follow each other, from a
// call with one and a call with two.
func (f *finder) deriveTagged(made *Format) bool {
	one, two := f.one.text, f.two.text
	key, value := strings.Index(one, sampleKey), strings.Index(one, sampleValue)
	name := strings.Index(one, sampleName)
	next, last := strings.Index(two, otherKey), strings.Index(two, otherValue)
	if name < 0 || name > key || key > value || next < 0 || last < next || !strings.HasPrefix(two, one[:value]) {
		return false
	}
	// Between the two values stand the end of the first argument and the
	// beginning of the second, and that stands before the first too.
	between := two[value+len(sampleValue) : next]
	n := common(one[:key], between)
	for n > 0 && one[key-n] != '<' && one[key-n] != '[' {
		n--
	}
	if n == 0 || n == len(between) {
		return false
	}
	open, end := between[len(between)-n:], between[:len(between)-n]
	tail, ok := strings.CutPrefix(one[value+len(sampleValue):], strings.TrimRight(end, " \n"))
	if !ok {
		return false
	}
	made.Param = Pattern(open + "«key»" + one[key+len(sampleKey):value] + "«value»" + end)
	if strings.HasSuffix(one[:value], "\n") && strings.HasPrefix(end, "\n") {
		made.Values.Newline = true
	}
	head := one[:key-n]
	made.Call = []Pattern{Pattern(strings.Replace(head, sampleName, "«name»", 1) + "«params»" + tail)}
	return true
}

// deriveSection finds what stands around all calls and not around each, from
// two calls.
func (f *finder) deriveSection(made *Format) {
	p := string(made.Call[0])
	head, rest, _ := strings.Cut(p, "«")
	tail := ""
	if i := strings.LastIndex(rest, "»"); i >= 0 {
		tail = rest[i+len("»"):]
	}
	if !f.found.Parallel || strings.Contains(p, "«objects»") {
		return
	}
	// From the end of the first call's arguments to the second call's name or
	// object.
	from := strings.Index(f.both.text, sampleValue)
	second := strings.LastIndex(f.both.text, sampleName)
	if from < 0 || second < from {
		return
	}
	between := f.both.text[from:second]
	if strings.Contains(p, "«object") {
		i := strings.LastIndexByte(between, '{')
		if i < 0 {
			return
		}
		between = between[:i]
	}
	own := common(head, between)
	for own > 0 && own < len(head) && head[len(head)-own] != '<' && head[len(head)-own] != '[' {
		own--
	}
	if own == len(head) || own == 0 { // each call has all of it
		if i := strings.LastIndex(between[:len(between)-own], strings.TrimSpace(tail)); tail != "" && i >= 0 {
			made.Sep = between[i+len(strings.TrimSpace(tail)) : len(between)-own]
		}
		return
	}
	open, callOpen := head[:len(head)-own], head[len(head)-own:]
	callTail := ""
	between = between[:len(between)-own]
	for i := len(tail); i > 0; i-- {
		if strings.HasSuffix(strings.TrimRight(between, " \n"), strings.TrimSpace(tail[:i])) {
			callTail = tail[:i]
			made.Sep = between[len(strings.TrimRight(between, " \n")):]
			break
		}
	}
	made.Section = Span{Open: []string{strings.TrimSpace(open)}}
	if end := strings.TrimSpace(tail[len(callTail):]); end != "" {
		made.Section.Close = []string{end}
	}
	made.Call = []Pattern{Pattern(callOpen + strings.TrimSuffix(strings.TrimPrefix(p, head), tail) + callTail)}
}
