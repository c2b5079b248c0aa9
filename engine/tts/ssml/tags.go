package ssml

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"quern/engine/tts/g2p"
	"quern/engine/tts/lang"
)

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
