package wire

import (
	"slices"
	"strings"
)

// A Format says how a family of models writes thinking, content and calls. A
// reader and a grammar are made of the same row, so that what may be written
// can be read.
//
// White space in patterns is what the template prints. A reader takes any run
// of blanks or none in its place, and between a pattern's parts.
type Format struct {
	Name     string
	Families string

	Think Think

	// Content are markers around the content. They are not part of it, and end
	// thinking.
	Content []string
	// Drop are markers that are not part of the text around them.
	Drop []string
	// Hide is a span that is no part of the answer.
	Hide Span

	// Section stands around all calls of a reply, where it is not part of Call.
	Section Span
	// Call is one call, or all if they stand in one list. Alternatives begin
	// with different literals; the first is the usual one.
	Call []Pattern
	// Param is one argument where Call has params.
	Param Pattern
	// Types are what «type» is for a string as it stands there and for JSON; if
	// the latter is empty, it is the JSON type's name.
	Types [2]string
	// Sep stands between two calls.
	Sep string

	Keys    Keys
	Dialect Dialect
	Quotes  string // around Gemma's strings
	Values  Values
	Bare    Bare
	ID      IDs
	Tail    Tail
	Inside  Inside
	Channel *Channel
	// Hints are texts of templates that tell the format from others.
	Hints []string
	// Aliases are names of tools that models write for others.
	Aliases [][2]string
	// Repeats says that models write a call twice, the second time inside the
	// first; that is dropped.
	Repeats bool

	// Primed is the beginning of a marker that templates print at the end of
	// the prompt.
	Primed string
}

// Think are the markers of thinking. Any of Open begins it; where Open is empty
// only the prompt does.
type Think struct {
	Open  []string
	Close string
	// Prompt is what opens thinking in the prompt, where that is no marker.
	Prompt string
	// Again says that thinking may be opened anywhere, not only where the
	// reply begins.
	Again bool
}

// A Span is the text between one of some markers and its end.
type Span struct {
	Open, Close []string
}

// Keys are the members of a call object as the format writes them. A reader
// takes the usual names too.
type Keys struct {
	Name, Args, ID string
	// NameIsKey says that the object has one member, named like the tool.
	NameIsKey bool
	// IDLast says that the id follows the arguments. They are held until it
	// has come.
	IDLast bool
}

// Values says how the values of params are written.
type Values struct {
	// Newline says that a line break after the opening and before the closing
	// tag is not part of the value.
	Newline bool
	// CDATA says that a value may stand in <![CDATA[ and ]]>.
	CDATA bool
	// JSON says that a value without a schema is JSON if it parses, else it is
	// a string.
	JSON bool
	// Nested says that objects and arrays are written as params inside params;
	// items of arrays are named Item.
	Nested bool
	Item   string
}

// Bare says where a call without a marker may begin.
type Bare uint8

const (
	BareNever    Bare = iota
	BareAtStart       // where the reply begins
	BareAnywhere      // between words too
)

// IDs is the form of a captured id.
type IDs uint8

const (
	IDPlain IDs = iota
	// IDNamed is functions.NAME:INDEX; it is the name too.
	IDNamed
)

// Tail is the meaning of text after calls.
type Tail uint8

const (
	TailContent Tail = iota
	TailDropped      // models go on as if they had been answered
)

// Inside is the meaning of a call inside thinking.
type Inside uint8

const (
	InsideText Inside = iota // words
	InsideCall               // a call, and the end of thinking
	InsideLast               // a call if thinking is not closed afterwards
)

// A Channel is a reply made of messages with headers. A header says by its
// recipient (to=NAME) or by its channel what the message is.
type Channel struct {
	Start   string // before the header
	Name    string // before the name of the channel
	Message string // between header and message
	Answer  string // the header of an answer
	Ends    []string
	To      map[string]Region // recipients that are no tools
	Names   map[string]Region // channels of messages without a recipient
	// Prefix stands before the names of tools; a recipient without it is a tool
	// only if there is one of that name.
	Prefix string
	// Args says that the message to a tool is its arguments. Else calls stand
	// in it as in other formats, as they do where no recipient is named.
	Args bool
	// Constrain stands before the type of a call's arguments.
	Constrain string
}

// A Region is the kind of text.
type Region uint8

const (
	RegionContent Region = iota
	RegionThinking
	RegionCalls
	RegionHidden
	RegionNone // says nothing
)

// A Pattern is text with places in it:
//
//	«name»     the tool's name
//	«id»       the call's id
//	«args»     the arguments as one value
//	«params»   the arguments as Format.Param, one after another
//	«object»   an object with name, arguments and perhaps id
//	«objects»  an array of such objects
//	«calls»    f(a=1), g()
//	«list»     [f(a=1), g()]
//	«key»      of a param: its name
//	«type»     of a param: what its value is (Format.Types)
//	«value»    of a param
//	«skip»     anything
//
// «?text» is text that may be missing, with the place that follows it.
type Pattern string

// An ElementKind is a place of a Pattern, or its text.
type ElementKind uint8

const (
	Literal ElementKind = iota
	Name
	ID
	Args
	Params
	Object
	Objects
	Calls
	List
	Key
	Type
	Value
	Skip
)

var elementNames = map[string]ElementKind{
	"name": Name, "id": ID, "args": Args, "params": Params, "object": Object, "objects": Objects,
	"calls": Calls, "list": List, "key": Key, "type": Type, "value": Value, "skip": Skip,
}

// An Element is one piece of a Pattern.
type Element struct {
	Kind     ElementKind
	Text     string // of a Literal, white space as the template prints it
	Optional bool   // the literal may be missing, with the element after it
}

// Elements takes the pattern apart. A place that does not exist panics: the
// table is wrong.
func (p Pattern) Elements() []Element {
	var out []Element
	text := string(p)
	for text != "" {
		lit, rest, found := strings.Cut(text, "«")
		if lit != "" {
			out = append(out, Element{Kind: Literal, Text: lit})
		}
		if !found {
			break
		}
		place, after, _ := strings.Cut(rest, "»")
		if option, ok := strings.CutPrefix(place, "?"); ok {
			out = append(out, Element{Kind: Literal, Text: option, Optional: true})
		} else {
			kind, ok := elementNames[place]
			if !ok {
				panic("wire: no place «" + place + "»")
			}
			out = append(out, Element{Kind: kind})
		}
		text = after
	}
	return out
}

// opener is the literal the pattern begins with, without the white space around
// it; empty if it begins with a place.
func (p Pattern) opener() string {
	lit, _, _ := strings.Cut(string(p), "«")
	return strings.Trim(tags(lit)[0], " \n\t\r")
}

// tags cuts a literal where white space stands between two tags, and behind a
// code fence, since a reader takes blanks there or none.
func tags(lit string) []string {
	var out []string
	for i := 1; i < len(lit); i++ {
		if head := lit[:i]; lit[i] == '<' && (strings.HasSuffix(head, "```") ||
			strings.HasSuffix(strings.TrimRight(head, " \n\t\r"), ">") && !strings.HasSuffix(head, ">")) {
			out = append(out, head)
			lit, i = lit[i:], 0
		}
	}
	return append(out, lit)
}

// Triggers are the markers any of which begins a call, longest first. There are
// none where calls are bare only.
func (f *Format) Triggers() []string {
	var out []string
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range f.Section.Open {
		add(s)
	}
	for _, p := range f.Call {
		add(p.opener())
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// Find returns the format of a name.
func Find(name string) (*Format, bool) {
	for i := range formats {
		if formats[i].Name == name {
			return &formats[i], true
		}
	}
	return nil, false
}

// Names returns the names of all formats, in the table's order.
func Names() []string {
	out := make([]string, len(formats))
	for i := range formats {
		out[i] = formats[i].Name
	}
	return out
}

// texts is everything the format can write as markers.
func (f *Format) texts() []string {
	out := slices.Concat(f.Think.Open, []string{f.Think.Close}, f.Content, f.Drop, f.Hide.Open, f.Hide.Close,
		f.Section.Open, f.Section.Close, []string{f.Quotes})
	for _, p := range append(slices.Clone(f.Call), f.Param) {
		for _, e := range p.Elements() {
			out = append(out, e.Text)
		}
	}
	if c := f.Channel; c != nil {
		out = append(append(out, c.Start, c.Name, c.Message, c.Constrain), c.Ends...)
	}
	return out
}
