// Package ssml reads the core of the Speech Synthesis Markup Language: speak, p, s,
// break, say-as, phoneme, sub, emphasis and prosody. What it does not read it
// refuses by name.
//
// W3C, "Speech Synthesis Markup Language (SSML) Version 1.1", 2010, section 3.
package ssml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
)

// Bounds of a document.
const (
	maxDepth = 16
	maxTags  = 4000
	maxValue = 1000 // bytes of an attribute
	maxSaid  = 300  // bytes of what an error says
	maxPause = time.Minute
)

// An Error says what is wrong with a document, and at which line and column.
type Error struct {
	Line, Column int
	Problem      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("SSML, line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// A Document is text to be read, with marks for what its tags say.
type Document struct {
	Text     string
	Marks    []g2p.Mark
	Language string // as xml:lang of speak says, a code of package lang, or ""

	from, to []int32 // where each byte of Text comes from in the document
}

// Is reports whether text is SSML: whether it begins with speak, behind an XML
// declaration or comments.
func Is(text string) bool {
	for {
		text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
		switch {
		case strings.HasPrefix(text, "<?xml"):
			_, rest, ok := strings.Cut(text, "?>")
			if !ok {
				return false
			}
			text = rest
		case strings.HasPrefix(text, "<!--"):
			_, rest, ok := strings.Cut(text, "-->")
			if !ok {
				return false
			}
			text = rest
		case strings.HasPrefix(text, "<!DOCTYPE"): // which Parse refuses; it is no text to be read aloud
			return strings.Contains(text, "<speak")
		default:
			rest, ok := strings.CutPrefix(text, "<speak")
			return ok && rest != "" && strings.ContainsRune(" \t\r\n>/", rune(rest[0]))
		}
	}
}

// Restore makes the places of tokens of Text places in the document.
func (d *Document) Restore(tokens []g2p.Token) {
	for i := range tokens {
		t := &tokens[i]
		t.Start, t.End = int(d.from[t.Start]), int(d.to[t.End-1])
	}
}

// A parser reads one document.
type parser struct {
	Document
	d      *xml.Decoder
	whole  string
	spoken string // the language of phonemes
	text   strings.Builder
	open   []element
	tags   int // opened so far
}

// An element is open: its name, where its text begins, and what holds inside it.
type element struct {
	name     string
	from     int // byte of the text
	tag      [2]int
	mark     int // of Marks; -1 is none
	alias    string
	stress   float64
	delivery g2p.Delivery
}

// Parse reads a document whose phonemes are those of a language, unless it says
// another. The error is an *Error.
func Parse(document, language string) (*Document, error) {
	p := &parser{whole: document, spoken: language, d: xml.NewDecoder(strings.NewReader(document))}
	// What is declared is how a file was written; document is UTF-8 already.
	p.d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	begin := 0
	for {
		token, err := p.d.RawToken()
		end := int(p.d.InputOffset())
		if err == io.EOF {
			break
		}
		if err == nil {
			err = p.token(token, begin, end)
		}
		if err != nil {
			return nil, p.fail(begin, err)
		}
		begin = end
	}
	switch {
	case len(p.open) > 0:
		return nil, p.fail(begin, fmt.Errorf("<%s> is not closed", p.open[len(p.open)-1].name))
	case p.from == nil && len(p.Marks) == 0:
		return nil, p.fail(begin, errors.New("<speak> has no text"))
	}
	p.Document.Text = p.text.String()
	return &p.Document, nil
}

// fail says err of what begins at byte at of the document.
func (p *parser) fail(at int, err error) error {
	before := p.whole[:min(at, len(p.whole))]
	problem := err.Error()
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		problem = syntax.Msg
	}
	if len(problem) > maxSaid {
		problem = strings.ToValidUTF8(problem[:maxSaid], "") + "…"
	}
	return &Error{1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]), problem}
}

func (p *parser) token(token xml.Token, begin, end int) error {
	switch t := token.(type) {
	case xml.StartElement:
		return p.start(&t, begin, end)
	case xml.EndElement:
		if len(p.open) == 0 || p.open[len(p.open)-1].name != t.Name.Local {
			return fmt.Errorf("</%s> closes nothing", t.Name.Local)
		}
		return p.close(begin, end)
	case xml.CharData:
		if len(p.open) == 0 {
			if strings.TrimSpace(strings.TrimPrefix(string(t), "\ufeff")) != "" {
				return errors.New("text stands outside <speak>")
			}
			return nil
		}
		return p.chars(begin, end)
	case xml.Directive:
		return errors.New("a document type is not read")
	case xml.ProcInst:
		if t.Target != "xml" {
			return fmt.Errorf("the instruction <?%s?> is not supported", t.Target)
		}
	}
	return nil
}

// chars takes the text between two bytes of the document.
func (p *parser) chars(begin, end int) error {
	top := &p.open[len(p.open)-1]
	raw := p.whole[begin:end]
	if top.alias != "" {
		return nil
	}
	if top.name == "break" {
		return errors.New("<break> holds no text; write <break/>")
	}
	if cdata, ok := strings.CutPrefix(raw, "<![CDATA["); ok {
		p.plain(strings.TrimSuffix(cdata, "]]>"), begin+9)
		return nil
	}
	for i := 0; i < len(raw); {
		if raw[i] != '&' {
			k := strings.IndexByte(raw[i:], '&')
			if k < 0 {
				k = len(raw) - i
			}
			p.plain(raw[i:i+k], begin+i)
			i += k
			continue
		}
		k := strings.IndexByte(raw[i:], ';') + 1 // the decoder has checked it
		s, ok := entity(raw[i+1 : i+max(k, 2)-1])
		if !ok {
			return fmt.Errorf("%.20q is no character", raw[i:i+k])
		}
		p.put(s, begin+i, begin+i+k)
		i += k
	}
	return nil
}

func entity(name string) (string, bool) {
	if s, ok := map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'"}[name]; ok {
		return s, true
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return "", false
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	return string(rune(n)), err == nil && utf8.ValidRune(rune(n))
}

// plain adds text that stands in the document as it is.
func (p *parser) plain(s string, at int) {
	p.text.WriteString(s)
	for i := range len(s) {
		p.from, p.to = append(p.from, int32(at+i)), append(p.to, int32(at+i+1))
	}
}

// put adds text that stands for the bytes from to to of the document.
func (p *parser) put(s string, from, to int) {
	p.text.WriteString(s)
	for range len(s) {
		p.from, p.to = append(p.from, int32(from)), append(p.to, int32(to))
	}
}

func (p *parser) start(t *xml.StartElement, begin, end int) error {
	name := t.Name.Local
	tag, ok := tags[name]
	switch {
	case !ok || t.Name.Space != "":
		return fmt.Errorf("<%s> is not supported; there are speak, p, s, break, say-as, phoneme, sub, emphasis and prosody", strings.TrimPrefix(t.Name.Space+":"+name, ":"))
	case (len(p.open) == 0) != (name == "speak"):
		if name == "speak" {
			return errors.New("<speak> stands in <speak>")
		}
		return fmt.Errorf("<%s> stands outside <speak>", name)
	case len(p.open) == 0 && end > 0 && p.Document.from != nil:
		return errors.New("a second <speak>")
	case len(p.open) >= maxDepth:
		return fmt.Errorf("tags are nested more than %d deep", maxDepth)
	case p.tags >= maxTags:
		return fmt.Errorf("more than %d tags", maxTags)
	}
	p.tags++
	if name == "p" || name == "s" {
		p.put("\n", begin, end)
	}
	e := element{name: name, from: p.text.Len(), tag: [2]int{begin, end}, mark: -1}
	if len(p.open) > 0 {
		top := p.open[len(p.open)-1]
		if tags[top.name].text || top.name == "break" {
			return fmt.Errorf("<%s> stands in <%s>, which takes text only", name, top.name)
		}
		e.stress, e.delivery = top.stress, top.delivery
	}
	attributes := map[string]string{}
	for _, a := range t.Attr {
		key := a.Name.Local
		if a.Name.Space != "" {
			key = a.Name.Space + ":" + key
		}
		if strings.HasPrefix(key, "xmlns") || strings.HasPrefix(key, "xsi:") {
			continue
		}
		if !strings.Contains(" "+tag.attributes+" ", " "+key+" ") {
			return fmt.Errorf("%s of <%s> is not supported; it takes %s", key, name, strings.ReplaceAll(tag.attributes, " ", ", "))
		}
		if len(a.Value) > maxValue {
			return fmt.Errorf("%s of <%s> has %d bytes; the most is %d", key, name, len(a.Value), maxValue)
		}
		if _, there := attributes[key]; there {
			return fmt.Errorf("%s of <%s> stands there twice", key, name)
		}
		attributes[key] = strings.TrimSpace(a.Value)
	}
	if tag.open != nil {
		if err := tag.open(p, &e, attributes); err != nil {
			return err
		}
	}
	p.open = append(p.open, e)
	return nil
}

func (p *parser) close(begin, end int) error {
	e := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if e.alias != "" {
		p.put(e.alias, e.tag[1], max(begin, e.tag[1]))
		if begin == e.tag[1] { // <sub alias="…"/>
			for i := e.from; i < p.text.Len(); i++ {
				p.from[i], p.to[i] = int32(e.tag[0]), int32(end)
			}
		}
	}
	if e.name == "phoneme" && p.text.Len() == e.from {
		p.put(p.Marks[e.mark].Phonemes, e.tag[0], end)
	}
	if (e.name == "p" || e.name == "s") && !ended(p.text.String()[e.from:]) {
		p.put(".", begin, end)
	}
	if e.mark >= 0 {
		p.Marks[e.mark].End = p.text.Len()
		if p.Marks[e.mark].Start == p.text.Len() {
			p.Marks = append(p.Marks[:e.mark], p.Marks[e.mark+1:]...) // nothing in it
		}
	}
	if e.name == "p" || e.name == "s" {
		p.put("\n", begin, end)
	}
	if e.name == "p" {
		p.pause(paragraph, begin, end)
	}
	return nil
}

// paragraph is the silence behind one.
const paragraph = 800 * time.Millisecond

func (p *parser) pause(d time.Duration, from, to int) {
	if d > 0 {
		at := p.text.Len()
		p.put("\n", from, to)
		p.Marks = append(p.Marks, g2p.Mark{Start: at, End: at + 1, Pause: d})
	}
}

// ended reports whether text ends as a sentence does, or has nothing to say.
func ended(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'”’)`, r) })
	r, _ := utf8.DecodeLastRuneInString(text)
	return text == "" || strings.ContainsRune(".!?…:;", r)
}
