package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"os"

	"quern/bench/internal/must"
	"quern/codecs"
	"quern/engine/tts"
	"quern/engine/wholefile"
)

//go:embed samples.html
var samplesPage string

// lines are what the voices say on the page of samples, a kind of reading each.
var lines = map[string]string{
	"af_bella":    "I'm Bella. That's $3.50.",
	"af_sarah":    "Sarah, on Sat., May 5.",
	"af_nicole":   "Nicole, who speaks softly.",
	"af_sky":      "Sky! Have you read it?",
	"am_adam":     "Adam. Call 555-0199.",
	"am_michael":  "Michael: CO2 rose by 3/4.",
	"bf_emma":     "Emma. The bath is 2 m long.",
	"bf_isabella": "Isabella! Isn't it lovely?",
	"bm_george":   "George and Dr. Hill, Elm Dr.",
	"bm_lewis":    "Lewis: look in main.go.",
}

// short is what is said in every format, by the first voice.
const short = "Hello there."

// formatted are the formats of the page: the name of an encoding, its rate where it is not
// the voice's, what clients call it, and what is worth knowing.
var formatted = []struct {
	name       string
	rate       int
	Asked, Say string
}{
	{"mp3", 0, "mp3, mp3_44100_128, …", "64 kbit/s for OpenAI's clients; as it is made"},
	{"opus", 0, "opus, opus_48000_64, …", "Ogg; as it is made"},
	{"aac", 0, "aac", "ADTS, 64 kbit/s; as it is made"},
	{"m4a", 0, "m4a", "the same in MP4; exact length"},
	{"flac", 0, "flac", "lossless"},
	{"wav", 0, "wav, wav_24000, …", "16 bits"},
	{"pcm", 0, "pcm, pcm_24000, …", "16 bits without a header"},
	{"mulaw", 8000, "ulaw_8000", "for telephones"},
	{"alaw", 8000, "alaw_8000", "for telephones"},
}

// A sample is something to be heard. Tag is that of a WAV header which the page writes
// before samples without one; 0 is of files.
type sample struct {
	ID, Name, About, Text, MIME, Ext string
	Tag, Rate, Bits, Bytes           int
	Data                             template.URL
}

// tags are the format tags of samples without a header in WAV files.
var tags = map[string]struct{ tag, bits int }{"pcm": {1, 16}, "mulaw": {7, 8}, "alaw": {6, 8}}

// samples writes a page with samples of every built-in voice and every format.
func samples(ctx context.Context, file string) (err error) {
	defer must.Catch(&err)
	reader, synth := must.Get(tts.NewPronouncer(nil)), tts.Formant()
	encoded := func(text, voice, format string, rate int) sample {
		e := must.Get(codecs.EncodingByName(format))
		o := codecs.EncodeOptions{Rate: rate, Speech: true}
		if format == "mp3" {
			o.Bitrate = 64000
		}
		var b bytes.Buffer
		enc := must.Get(e.Create(&b, synth.Rate(), 1, o))
		for c, err := range tts.Speak(ctx, synth, reader, tts.Request{Text: text, Voice: voice, Speed: 1}) {
			must.Do(err)
			must.Do(enc.Write(c.Samples))
		}
		must.Do(enc.Close())
		s := sample{Text: text, MIME: e.MIME, Ext: e.Ext, Bytes: b.Len(), Tag: tags[format].tag, Bits: tags[format].bits, Rate: rate,
			Data: template.URL("data:" + e.MIME + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes()))}
		if rate == 0 {
			s.Rate = synth.Rate()
		}
		return s
	}
	page := struct{ Voices, Formats []sample }{}
	for _, v := range synth.Voices() {
		if lines[v.ID] == "" {
			return fmt.Errorf("voice %s has no line to say", v.ID)
		}
		s := encoded(lines[v.ID], v.ID, "mp3", 0)
		s.ID, s.Name, s.About = v.ID, v.Name, v.Description
		page.Voices = append(page.Voices, s)
	}
	for _, f := range formatted {
		s := encoded(short, page.Voices[0].ID, f.name, f.rate)
		s.ID, s.Name, s.About = f.name, f.Asked, f.Say
		page.Formats = append(page.Formats, s)
	}
	t := must.Get(template.New("samples").Parse(samplesPage))
	var out bytes.Buffer
	must.Do(t.Execute(&out, page))
	if out.Len() > mostPage {
		return errors.New("the page is larger than a page of documents may be: say less")
	}
	return wholefile.Write(file, func(f *os.File) error {
		_, err := f.Write(out.Bytes())
		return err
	})
}

// mostPage bounds the page of samples, in bytes.
const mostPage = 600_000
