package main

import (
	"context"
	"strings"

	"quern/bench/fixtures"
	"quern/engine/tts/g2p"
	"quern/engine/tts/lang"
	"quern/engine/tts/ssml"
)

// spoken are texts to be read.
var spoken = []struct {
	name string
	make func(n int) string
}{
	{"prose", fixtures.Repeated("The hand-mill is older than the wheel; in 1831 a farmer found seven of them under his barley. ")},
	{"one word", fixtures.Varied},
	{"one letter", fixtures.Repeated("a")},
	{"capitals", fixtures.Repeated("ABC")},
	{"digits", fixtures.Repeated("1234567890")},
	{"numbers", fixtures.Repeated("1,234.5 ")},
	{"dates and times", fixtures.Repeated("on 3 May 2021 at 10:30 ")},
	{"money", fixtures.Repeated("$1,200.50m and ")},
	{"full stops", fixtures.Repeated(".")},
	{"commas", fixtures.Repeated(",")},
	{"hyphens", fixtures.Repeated("a-")},
	{"slashes", fixtures.Repeated("a/")},
	{"colons", fixtures.Repeated("1:")},
	{"points in numbers", fixtures.Repeated("1.")},
	{"quotes", fixtures.Repeated(`"`)},
	{"brackets", fixtures.Repeated("(")},
	{"square brackets", fixtures.Repeated("[")},
	{"overrides", fixtures.Repeated("[a](/a/) ")},
	{"apostrophes", fixtures.Repeated("'")},
	{"spaces", fixtures.Repeated(" ")},
	{"line ends", fixtures.Repeated("\n")},
	{"emoji", fixtures.Repeated("🙂")},
	{"addresses", fixtures.Repeated("a@b.c ")},
	{"one address", fixtures.Repeated("a.b@c.")},
	{"links", fixtures.Repeated("https://a.b/c?d=e ")},
	{"one link", func(n int) string { return "https://" + fixtures.Repeated("a.b/c?d=e&")(n) }},
	{"sums", fixtures.Repeated("1 + 2 = 3, ")},
	{"one sum", fixtures.Repeated("1+")},
	{"Roman numerals", fixtures.Repeated("XIV ")},
	{"superscripts", fixtures.Repeated("m²")},
	{"percent", fixtures.Repeated("%")},
	{"stars", fixtures.Repeated("*")},
	{"hashes", fixtures.Repeated("#")},
	{"tables", fixtures.Repeated("| a | b ")},
	{"accents", fixtures.Repeated("\u0301")},
}

func speech(string) (list []probe, err error) {
	english, err := g2p.New(g2p.Options{})
	if err != nil {
		return nil, err
	}
	for _, t := range spoken {
		list = append(list, probe{"reading", t.name, "English", 1 << 12, "bytes", func(n int) (func() error, error) {
			text := t.make(n)
			return func() error {
				_, err := english.Read(context.Background(), text, g2p.Reading{})
				return err
			}, nil
		}})
		for _, code := range lang.Spoken() {
			if lang.Find(code) == nil {
				continue // English, which is above
			}
			list = append(list, probe{"reading", t.name, code, 1 << 12, "bytes", func(n int) (func() error, error) {
				text, l := t.make(n), lang.Find(code)
				return func() error {
					_, err := l.Read(context.Background(), text, lang.Reading{})
					return err
				}, nil
			}})
		}
	}
	for _, d := range []struct {
		name, open, inside, end string
	}{
		{"sentences", "<s>", "Well. ", "</s>"}, {"breaks", "", `Well <break time="10ms"/> `, ""}, {"prosody", "", `<prosody rate="slow">Well.</prosody>`, ""},
		{"entities", "", "&amp;", ""},
	} {
		list = append(list, probe{"SSML", d.name, "", 1 << 12, "bytes", func(n int) (func() error, error) {
			text := "<speak>" + d.open + strings.Repeat(d.inside, n/len(d.inside)+1) + d.end + "</speak>"
			return func() error {
				_, err := ssml.Parse(text, "en-US")
				return err
			}, nil
		}})
	}
	return list, nil
}
