// Package ssml reads the core of the Speech Synthesis Markup Language: speak, p, s,
// break, say-as, phoneme, sub, emphasis and prosody. What it does not read it
// refuses by name.
//
// W3C, "Speech Synthesis Markup Language (SSML) Version 1.1", 2010, section 3.
package ssml

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
	"quern/engine/tts/lang"
)

// Bounds of a document.
const (
	maxDepth = 16
	maxMarks = 4000
	maxValue = 1000 // bytes of an attribute
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
		default:
			rest, ok := strings.CutPrefix(text, "<speak")
			return ok && rest != "" && strings.ContainsRune(" \t\r\n>/", rune(rest[0]))
		}
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
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		problem = syntax.Msg
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
			if strings.TrimSpace(string(t)) != "" {
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
	case len(p.Marks) >= maxMarks:
		return fmt.Errorf("more than %d tags", maxMarks)
	}
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

// A tag is how an element is read.
type tag struct {
	attributes string // those it takes
	text       bool   // nothing but text stands in it
	open       func(p *parser, e *element, a map[string]string) error
}

var tags = map[string]tag{
	"speak":    {"version xml:lang xml:base", false, language},
	"p":        {"xml:lang", false, language},
	"s":        {"xml:lang", false, language},
	"break":    {"time strength", false, breakTag},
	"say-as":   {"interpret-as format detail", true, sayAs},
	"phoneme":  {"alphabet ph", true, phoneme},
	"sub":      {"alias", true, sub},
	"emphasis": {"level", false, emphasis},
	"prosody":  {"rate pitch volume", false, prosody},
}

// language takes xml:lang: of speak it is the document's; elsewhere it may not
// differ from that.
func language(p *parser, e *element, a map[string]string) error {
	tag := a["xml:lang"]
	if tag == "" {
		return nil
	}
	code, ok := lang.Code(tag)
	same := func(other string) bool {
		return code == other || strings.EqualFold(tag, "en") && strings.HasPrefix(other, "en-")
	}
	switch {
	case !ok:
		return fmt.Errorf("xml:lang=%q is not supported; there are %s", tag, strings.Join(lang.Spoken(), ", "))
	case e.name != "speak" && !same(cmp.Or(p.Language, p.spoken)):
		return errors.New("xml:lang changes within the document; one language is spoken")
	case e.name == "speak" && !same(p.spoken):
		p.Language, p.spoken = code, code
	case e.name == "speak":
		p.Language = p.spoken
	}
	return nil
}

// strengths are the silences of break, as Azure documents them.
var strengths = map[string]time.Duration{"none": 0, "x-weak": 250 * time.Millisecond, "weak": 500 * time.Millisecond, "": 750 * time.Millisecond, "medium": 750 * time.Millisecond, "strong": time.Second, "x-strong": 1250 * time.Millisecond}

func breakTag(p *parser, e *element, a map[string]string) error {
	d, ok := strengths[a["strength"]]
	if !ok {
		return fmt.Errorf("strength=%q of <break> is none of none, x-weak, weak, medium, strong and x-strong", a["strength"])
	}
	if s := a["time"]; s != "" {
		var err error
		unit := strings.TrimLeft(s, "+0123456789.")
		if d, err = time.ParseDuration(s); err != nil || unit != "s" && unit != "ms" {
			return fmt.Errorf("time=%q of <break> is no time; write 500ms or 1.5s", s)
		}
		if d > maxPause {
			return fmt.Errorf("time=%q of <break> is more than %d s", s, int(maxPause.Seconds()))
		}
	}
	p.pause(d, e.tag[0], e.tag[1])
	return nil
}

// kinds are the values of interpret-as, W3C's and those of Amazon, Google and Azure.
var kinds = map[string]g2p.As{"characters": g2p.Characters, "spell-out": g2p.Characters, "verbatim": g2p.Characters, "letters": g2p.Characters, "cardinal": g2p.Cardinal, "number": g2p.Cardinal, "ordinal": g2p.Ordinal,
	"digits": g2p.Digits, "number_digit": g2p.Digits, "date": g2p.Date, "time": g2p.Time, "telephone": g2p.Telephone, "fraction": g2p.Fraction, "unit": "unit", "currency": "currency", "address": "address"}

func sayAs(p *parser, e *element, a map[string]string) error {
	as, ok := kinds[strings.ToLower(a["interpret-as"])]
	switch {
	case a["interpret-as"] == "":
		return errors.New("<say-as> needs interpret-as")
	case !ok:
		return fmt.Errorf("interpret-as=%q is not supported; there are characters, spell-out, verbatim, cardinal, ordinal, digits, date, time, telephone, fraction, unit, currency and address", a["interpret-as"])
	case a["detail"] != "":
		return errors.New("detail of <say-as> is not supported")
	}
	format := strings.ToLower(a["format"])
	switch {
	case format == "":
	case as == g2p.Date:
		if strings.Trim(format, "ymd") != "" || len(format) > 3 || strings.Count(format, "y") > 1 || strings.Count(format, "m") > 1 || strings.Count(format, "d") > 1 {
			return fmt.Errorf("format=%q of a date is not supported; write y, m and d in their order, as mdy", format)
		}
	case as == g2p.Time:
		if format != "hms12" && format != "hms24" {
			return fmt.Errorf("format=%q of a time is not supported; there are hms12 and hms24", format)
		}
	case as == g2p.Telephone: // a country's code, which changes nothing that is said
	default:
		return fmt.Errorf("format of interpret-as=%q is not supported", a["interpret-as"])
	}
	p.mark(e, g2p.Mark{As: as, Format: format})
	return nil
}

func phoneme(p *parser, e *element, a map[string]string) error {
	if s := a["alphabet"]; s != "" && s != "ipa" && s != "x-kokoro" {
		return fmt.Errorf("alphabet=%q of <phoneme> is not supported; write ipa", s)
	}
	if a["ph"] == "" {
		return errors.New("<phoneme> needs ph, the phonemes")
	}
	said, err := fromIPA(a["ph"], p.spoken)
	if err != nil {
		return err
	}
	p.mark(e, g2p.Mark{Phonemes: said})
	return nil
}

// fromIPA writes phonemes as Kokoro reads them in a language.
func fromIPA(ph, language string) (string, error) {
	switch language {
	case "en-us":
		return g2p.FromIPA(ph, g2p.US)
	case "en-gb":
		return g2p.FromIPA(ph, g2p.British)
	}
	return g2p.Symbols(ph)
}

func sub(p *parser, e *element, a map[string]string) error {
	if e.alias = a["alias"]; e.alias == "" {
		return errors.New("<sub> needs alias, the words to be read")
	}
	return nil
}

func emphasis(p *parser, e *element, a map[string]string) error {
	levels := map[string]struct{ stress, volume float64 }{"": {0.5, 2}, "moderate": {0.5, 2}, "strong": {1, 4}, "none": {}, "reduced": {-0.5, -3}}
	l, ok := levels[a["level"]]
	if !ok {
		return fmt.Errorf("level=%q of <emphasis> is none of strong, moderate, none and reduced", a["level"])
	}
	e.stress = l.stress
	e.delivery.Volume += l.volume
	p.mark(e, g2p.Mark{})
	return nil
}

// mark begins a mark at an element, with what holds in it.
func (p *parser) mark(e *element, m g2p.Mark) {
	m.Start, m.Stress, m.Delivery = p.text.Len(), e.stress, e.delivery
	e.mark = len(p.Marks)
	p.Marks = append(p.Marks, m)
}

// Restore makes the places of tokens of Text places in the document.
func (d *Document) Restore(tokens []g2p.Token) {
	for i := range tokens {
		t := &tokens[i]
		t.Start, t.End = int(d.from[t.Start]), int(d.to[t.End-1])
	}
}

// Bounds of prosody.
const (
	minRate, maxRate = 0.5, 2.0
	maxPitch         = 12.0 // semitones either way
	maxVolume        = 12.0 // decibels up
	silent           = -96.0
)

func prosody(p *parser, e *element, a map[string]string) error {
	if len(a) == 0 {
		return errors.New("<prosody> needs rate, pitch or volume")
	}
	d := &e.delivery
	if s := a["rate"]; s != "" {
		rate, relative, err := rateOf(s)
		if err != nil {
			return err
		}
		if relative && d.Rate > 0 {
			rate *= d.Rate
		}
		if !(rate >= minRate && rate <= maxRate) {
			return fmt.Errorf("rate=%q of <prosody> makes %.3g times the tempo; there are %g to %g", s, rate, minRate, maxRate)
		}
		d.Rate = rate
	}
	if s := a["pitch"]; s != "" {
		pitch, relative, err := pitchOf(s)
		if err != nil {
			return err
		}
		if relative {
			pitch += d.Pitch
		}
		if !(math.Abs(pitch) <= maxPitch) {
			return fmt.Errorf("pitch=%q of <prosody> makes %.3g semitones; there are %g either way", s, pitch, maxPitch)
		}
		d.Pitch = pitch
	}
	if s := a["volume"]; s != "" {
		volume, relative, err := volumeOf(s)
		if err != nil {
			return err
		}
		if relative {
			volume += d.Volume
		}
		if volume > maxVolume {
			return fmt.Errorf("volume=%q of <prosody> makes %.3g dB more; the most is %g", s, volume, maxVolume)
		}
		d.Volume = max(volume, silent)
	}
	p.mark(e, g2p.Mark{})
	return nil
}

// number reads a number with a unit behind it.
func number(s, unit string) (float64, bool) {
	digits, ok := strings.CutSuffix(s, unit)
	if !ok || strings.ContainsAny(digits, "xXpPiInN_") {
		return 0, false
	}
	x, err := strconv.ParseFloat(digits, 64)
	return x, err == nil
}

func signed(s string) bool { return strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") }

func rateOf(s string) (rate float64, relative bool, err error) {
	if r, ok := map[string]float64{"x-slow": 0.5, "slow": 0.75, "medium": 1, "default": 1, "fast": 1.4, "x-fast": 1.9}[s]; ok {
		return r, false, nil
	}
	if x, ok := number(s, "%"); ok {
		if signed(s) {
			x += 100
		}
		return x / 100, true, nil
	}
	if x, ok := number(s, ""); ok && !signed(s) {
		return x, true, nil
	}
	return 0, false, fmt.Errorf("rate=%q of <prosody> is not supported; write slow, 80%%, +10%% or 1.2", s)
}

func pitchOf(s string) (semitones float64, relative bool, err error) {
	if st, ok := map[string]float64{"x-low": -6, "low": -3, "medium": 0, "default": 0, "high": 3, "x-high": 6}[s]; ok {
		return st, false, nil
	}
	if x, ok := number(s, "st"); ok && signed(s) {
		return x, true, nil
	}
	if x, ok := number(s, "%"); ok && signed(s) && x > -100 {
		return 12 * math.Log2(1+x/100), true, nil
	}
	return 0, false, fmt.Errorf("pitch=%q of <prosody> is not supported; write low, +2st or -10%%", s)
}

func volumeOf(s string) (decibels float64, relative bool, err error) {
	if db, ok := map[string]float64{"silent": silent, "x-soft": -12, "soft": -6, "medium": 0, "default": 0, "loud": 4, "x-loud": 8}[s]; ok {
		return db, false, nil
	}
	if x, ok := number(s, "dB"); ok && signed(s) {
		return x, true, nil
	}
	return 0, false, fmt.Errorf("volume=%q of <prosody> is not supported; write soft, loud or -6dB", s)
}
