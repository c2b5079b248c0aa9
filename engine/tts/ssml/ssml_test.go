package ssml_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quern/engine/tts/g2p"
	"quern/engine/tts/ssml"
)

func open(t testing.TB) *g2p.G2P {
	t.Helper()
	g, err := g2p.New(g2p.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// read returns the tokens of a document, their places in it.
func read(t testing.TB, g *g2p.G2P, document string) []g2p.Token {
	t.Helper()
	d, err := ssml.Parse(document, "en-us")
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	tokens, err := g.Read(t.Context(), d.Text, g2p.Reading{Marks: d.Marks})
	if err != nil {
		t.Fatal(err)
	}
	d.Restore(tokens)
	return tokens
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"<speak>a</speak>": true, "  \n<speak version='1.0'>": true, "<?xml version=\"1.0\"?>\n<!-- a --><speak>": true, "<speak/>": true, "<!DOCTYPE speak PUBLIC 'x' 'y'>\n<speak>a</speak>": true, "<!DOCTYPE html><p>": false,
		"speak": false, "<speaker>": false, "a <speak>": false, "<?xml": false, "<!--": false, "": false, "<speak": false,
	} {
		if got := ssml.Is(text); got != want {
			t.Errorf("Is(%q) = %v", text, got)
		}
	}
}

// TestRead gives what is heard: words, and pauses in milliseconds.
func TestRead(t *testing.T) {
	g := open(t)
	for _, tt := range []struct{ inside, want string }{
		{`A &amp; B &lt; C &#65;&#x42;`, "A and B less than C AB"},
		{`<![CDATA[x & y]]>`, "x and y"},
		{`a<!-- no -->b`, "ab"},
		{`one<break/>two`, "one 750 two"},
		{`one <break strength="weak"/> two <break time="1.5s"/> three <break time="20ms"/>`, "one 500 two 1500 three 20"},
		{`one <break strength="none"/> two`, "one two"},
		{`<say-as interpret-as="characters">A1-b</say-as>`, "A one dash B"},
		{`<say-as interpret-as="spell-out">iOS</say-as>`, "I O S"},
		{`<say-as interpret-as="verbatim">NASA</say-as>`, "N A S A"},
		{`<say-as interpret-as="cardinal">1999</say-as>`, "one thousand nine hundred ninety nine"},
		{`<say-as interpret-as="cardinal">007</say-as>`, "seven"},
		{`<say-as interpret-as="ordinal">21</say-as>`, "twenty first"},
		{`<say-as interpret-as="ordinal">XIV</say-as>`, "fourteenth"},
		{`<say-as interpret-as="digits">1999</say-as>`, "one nine nine nine"},
		{`<say-as interpret-as="date" format="dmy">3/5/2024</say-as>`, "May third twenty twenty four"},
		{`<say-as interpret-as="date" format="mdy">3/5/2024</say-as>`, "March fifth twenty twenty four"},
		{`<say-as interpret-as="date">2024-12-25</say-as>`, "December twenty fifth twenty twenty four"},
		{`<say-as interpret-as="date" format="y">1984</say-as>`, "nineteen eighty four"},
		{`<say-as interpret-as="time" format="hms12">2:30pm</say-as>`, "two thirty P M"},
		{`<say-as interpret-as="telephone">555-0199</say-as>`, "five five five , zero one nine nine"},
		{`<say-as interpret-as="fraction">2/9</say-as>`, "two ninths"},
		{`<say-as interpret-as="cardinal">many</say-as>`, "many"},
		{`<sub alias="World Wide Web">WWW</sub> and <sub alias="5 kg"/>`, "World Wide Web and five kilograms"},
		{`<p>One</p><p>Two</p>`, "One . 800 Two . 800"},
		{`<p><s>One</s><s>Two!</s></p>`, "One . Two ! 800"},
		{`the <emphasis>red</emphasis> one`, "the red one"},
		{`<phoneme alphabet="ipa" ph="kwɜːn">quern</phoneme> <phoneme ph="kwɜːn"/>`, "quern kwˈɜɹn"},
	} {
		var got []string
		for _, k := range read(t, g, "<speak>"+tt.inside+"</speak>") {
			if k.Kind == g2p.Pause {
				got = append(got, fmt.Sprint(k.Pause.Milliseconds()))
			} else {
				got = append(got, k.Text)
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.inside, got, tt.want)
		}
	}
}

// TestPrologue: what stands before a document changes nothing: its text is decoded already.
func TestPrologue(t *testing.T) {
	g := open(t)
	for _, before := range []string{"\ufeff", `<?xml version="1.0" encoding="UTF-16"?>`, "\ufeff<?xml version='1.0' encoding='ISO-8859-1'?>\n<!-- a -->"} {
		got := read(t, g, before+"<speak>a naïve man</speak>")
		if len(got) != 3 || got[1].Text != "naive" {
			t.Errorf("behind %q: %v", before, got)
		}
	}
}

// TestPlaces: words stand for the bytes of the document that they come from.
func TestPlaces(t *testing.T) {
	g := open(t)
	document := `<speak>Tom &amp; <emphasis>Sue</emphasis> paid <sub alias="five dollars">$5</sub> <phoneme ph="naʊ">now</phoneme><break time="1s"/><say-as interpret-as="digits">42</say-as></speak>`
	var got []string
	last := 0
	for _, k := range read(t, g, document) {
		if k.Start < last || k.End <= k.Start || k.End > len(document) {
			t.Fatalf("%q is at %d to %d, after %d", k.Text, k.Start, k.End, last)
		}
		last = k.Start
		got = append(got, document[k.Start:k.End])
	}
	if want := []string{"Tom", "&amp;", "Sue", "paid", "$5", "$5", "now", `<break time="1s"/>`, "42", "42"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDelivery(t *testing.T) {
	g := open(t)
	tokens := read(t, g, `<speak>a <prosody rate="50%" pitch="-2st">b <prosody rate="+50%" volume="loud">c</prosody> d</prosody> <emphasis level="reduced">e</emphasis></speak>`)
	want := []g2p.Delivery{{}, {Rate: 0.5, Pitch: -2}, {Rate: 0.75, Pitch: -2, Volume: 4}, {Rate: 0.5, Pitch: -2}, {Volume: -3}}
	for i, k := range tokens {
		if k.Delivery != want[i] {
			t.Errorf("%q: got %+v, want %+v", k.Text, k.Delivery, want[i])
		}
	}
	strong := read(t, g, `<speak>it is <emphasis level="strong">the</emphasis> best of all</speak>`)
	if got := strong[2].Phonemes; !strings.Contains(got, "ˈ") {
		t.Errorf("the, with emphasis, is %q", got)
	}
}

// TestRefused: what is not read is refused by name.
func TestRefused(t *testing.T) {
	deep := strings.Repeat("<prosody volume='loud'>", 20)
	for document, name := range map[string]string{
		`<speak><audio src="x"/></speak>`:                                       "<audio>",
		`<speak><voice name="x">a</voice></speak>`:                              "<voice>",
		`<speak><amazon:effect name="whispered">a</amazon:effect></speak>`:      "<amazon:effect>",
		`<speak><break time="5"/></speak>`:                                      "time=",
		`<speak><break time="-1s"/></speak>`:                                    "time=",
		`<speak><break time="61s"/></speak>`:                                    "61s",
		`<speak><break strength="huge"/></speak>`:                               "strength=",
		`<speak><break>a</break></speak>`:                                       "<break>",
		`<speak><say-as>1</say-as></speak>`:                                     "interpret-as",
		`<speak><say-as interpret-as="expletive">1</say-as></speak>`:            "expletive",
		`<speak><say-as interpret-as="date" format="abc">1</say-as></speak>`:    "abc",
		`<speak><say-as interpret-as="digits"><s>1</s></say-as></speak>`:        "<s>",
		`<speak><phoneme alphabet="x-sampa" ph="a">a</phoneme></speak>`:         "x-sampa",
		`<speak><phoneme ph="aʘ">a</phoneme></speak>`:                           "character 2",
		`<speak><phoneme>a</phoneme></speak>`:                                   "ph",
		`<speak><sub>a</sub></speak>`:                                           "alias",
		`<speak><emphasis level="very">a</emphasis></speak>`:                    "very",
		`<speak><prosody>a</prosody></speak>`:                                   "<prosody>",
		`<speak><prosody contour="(0%,+20Hz)">a</prosody></speak>`:              "contour",
		`<speak><prosody pitch="200Hz">a</prosody></speak>`:                     "200Hz",
		`<speak><prosody rate="300%">a</prosody></speak>`:                       "300%",
		`<speak><prosody rate="NaN">a</prosody></speak>`:                        "NaN",
		`<speak><prosody volume="+40dB">a</prosody></speak>`:                    "+40dB",
		`<speak xml:lang="ko-KR">a</speak>`:                                     "ko-KR",
		`<speak foo="1">a</speak>`:                                              "foo",
		`<speak>a`:                                                              "not closed",
		`<speak>a</p></speak>`:                                                  "</p>",
		`<speak>a</speak>b`:                                                     "outside",
		`<speak></speak>`:                                                       "no text",
		`<speak>a</speak><speak>b</speak>`:                                      "second",
		`<speak>&nbsp;</speak>`:                                                 "nbsp",
		`<!DOCTYPE speak><speak>a</speak>`:                                      "document type",
		`<speak>` + deep + `</speak>`:                                           "nested",
		`<speak>` + strings.Repeat("<break/>", 5000) + `</speak>`:               "more than",
		`<speak>` + strings.Repeat("<s>a</s>", 4000) + `</speak>`:               "more than",
		`<speak><break time="1s" time="2s"/></speak>`:                           "time of <break> stands there twice",
		`<speak><` + strings.Repeat("a", 9000) + `/></speak>`:                   "…",
		`<speak><sub alias="` + strings.Repeat("a", 2000) + `">a</sub></speak>`: "bytes",
	} {
		_, err := ssml.Parse(document, "en-us")
		var wrong *ssml.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), name) {
			t.Errorf("%.60s: got %v, want it to name %q", document, err, name)
		}
		if len(err.Error()) > 400 {
			t.Errorf("%.60s: the error has %d bytes", document, len(err.Error()))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`<speak>a <break time="1s"/> <say-as interpret-as="date">1/2/2003</say-as> <sub alias="b">c</sub> <phoneme ph="a">d</phoneme></speak>`)
	f.Add(`<speak><p><s>A &amp; B</s></p><prosody rate="slow" pitch="high" volume="-3dB">c <emphasis>d</emphasis></prosody></speak>`)
	g := open(f)
	f.Fuzz(func(t *testing.T, document string) {
		if len(document) > 4000 {
			return
		}
		d, err := ssml.Parse(document, "en-gb")
		if err != nil {
			var wrong *ssml.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("%v is no *ssml.Error", err)
			}
			return
		}
		tokens, err := g.Read(t.Context(), d.Text, g2p.Reading{Accent: g2p.British, Marks: d.Marks})
		if err != nil {
			t.Fatal(err)
		}
		d.Restore(tokens)
		last := 0
		for _, k := range tokens {
			if k.Start < last || k.End <= k.Start || k.End > len(document) {
				t.Fatalf("%q is at %d to %d of %d, after %d", k.Text, k.Start, k.End, len(document), last)
			}
			last = k.Start
		}
	})
}
