package main

import (
	"context"
	"strings"

	"quern/engine/tts/g2p"
	"quern/engine/tts/lang"
	"quern/engine/tts/ssml"
)

// spoken are texts to be read.
var spoken = []struct {
	name string
	make func(n int) string
}{
	{"prose", repeated("The hand-mill is older than the wheel; in 1831 a farmer found seven of them under his barley. ")},
	{"one word", varied},
	{"one letter", repeated("a")},
	{"capitals", repeated("ABC")},
	{"digits", repeated("1234567890")},
	{"numbers", repeated("1,234.5 ")},
	{"dates and times", repeated("on 3 May 2021 at 10:30 ")},
	{"money", repeated("$1,200.50m and ")},
	{"full stops", repeated(".")},
	{"commas", repeated(",")},
	{"hyphens", repeated("a-")},
	{"slashes", repeated("a/")},
	{"colons", repeated("1:")},
	{"points in numbers", repeated("1.")},
	{"quotes", repeated(`"`)},
	{"brackets", repeated("(")},
	{"square brackets", repeated("[")},
	{"overrides", repeated("[a](/a/) ")},
	{"apostrophes", repeated("'")},
	{"spaces", repeated(" ")},
	{"line ends", repeated("\n")},
	{"emoji", repeated("🙂")},
	{"addresses", repeated("a@b.c ")},
	{"one address", repeated("a.b@c.")},
	{"links", repeated("https://a.b/c?d=e ")},
	{"one link", func(n int) string { return "https://" + repeated("a.b/c?d=e&")(n) }},
	{"sums", repeated("1 + 2 = 3, ")},
	{"one sum", repeated("1+")},
	{"Roman numerals", repeated("XIV ")},
	{"superscripts", repeated("m²")},
	{"percent", repeated("%")},
	{"stars", repeated("*")},
	{"hashes", repeated("#")},
	{"tables", repeated("| a | b ")},
	{"accents", repeated("\u0301")},
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
			text := "<speak>" + d.open + strings.Repeat(d.inside, n/len(d.inside)) + d.end + "</speak>"
			return func() error {
				_, err := ssml.Parse(text, "en-US")
				return err
			}, nil
		}})
	}
	return list, nil
}
