package tts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// plain is a synthesiser whose sound can be counted: at 10 kHz 0.3 s of quiet, 10 ms of 0.5 for
// each symbol, and 0.9 s of quiet.
type plain struct{ limit int }

const plainRate, plainQuiet = 10000, 0.001 // well below the floor

func (plain) Name() string { return "plain" }
func (plain) Rate() int    { return plainRate }
func (s plain) Limit() int { return s.limit }
func (plain) First() int   { return 0 }

func (plain) Floor([]float32, int, uint64) {}
func (plain) Voices() []Voice              { return []Voice{{ID: "af_plain", Language: "en-us"}} }
func (plain) Bytes() int64                 { return 0 }

func (plain) Speak(_ context.Context, symbols []rune, _ string, _ float64, _ uint64) ([]float32, []int, error) {
	spans := []int{3000}
	samples := slices.Repeat([]float32{plainQuiet}, 3000)
	for range symbols {
		samples, spans = append(samples, slices.Repeat([]float32{0.5}, 100)...), append(spans, 100)
	}
	return append(samples, slices.Repeat([]float32{plainQuiet}, 9000)...), append(spans, 9000), nil
}

// What is heard between utterances, in milliseconds: 50 in front of each, 50 behind the last, and
// behind the others what belongs to the mark they end with, by the speed. A pause that the text
// asks for comes behind 50.
func TestPauses(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	const next = " Then the second one is said."
	clause := strings.Repeat("the long sentence goes on ", 3) + "and on"
	for _, tt := range []struct {
		name, text string
		limit      int
		speed      float64
		want       string // of each chunk: quiet in front, quiet behind
	}{
		{"one sentence", "Here is the only sentence.", 400, 1, "50 50"},
		{"full stop", "Here is the first sentence." + next, 400, 1, "50 410, 50 50"},
		{"question", "Is that the first sentence?" + next, 400, 1, "50 410, 50 50"},
		{"exclamation", "That is the first sentence!" + next, 400, 1, "50 370, 50 50"},
		{"ellipsis", "That is the first sentence…" + next, 400, 1, "50 410, 50 50"},
		{"closing quote", "“That is the first sentence!”" + next, 400, 1, "50 370, 50 50"},
		{"twice as fast", "That is the first sentence." + next, 400, 2, "50 205, 50 50"},
		{"half as fast", "That is the first sentence." + next, 400, 0.5, "50 820, 50 50"},
		{"comma", clause + ", " + clause + ".", 400, 1, "50 330, 50 50"},
		{"semicolon", clause + "; " + clause + ".", 400, 1, "50 330, 50 50"},
		{"no mark", clause + " " + clause + ".", 100, 1, "50 150, 50 50"},
		{"stumps are joined", "Hi. Yes." + next, 400, 1, "50 50"},
		{"three, the last two joined", "Here is the first sentence." + next + next, 400, 1, "50 410, 50 50"},
		{"pause", "Here is the first sentence. [pause:1.5s]" + next, 400, 1, "50 1550, 50 50"},
		{"pause at twice the speed", "Here is the first sentence. [pause:1.5s]" + next, 400, 2, "50 1550, 50 50"},
		{"pause within a sentence", "Here is the first [pause:700ms] sentence of all.", 400, 1, "50 750, 50 50"},
		{"pause in front", "[pause:2s] Here is the first sentence.", 400, 1, "0 2000, 50 50"},
		{"pause at the end", "Here is the first sentence. [pause:2s]", 400, 1, "50 2050"},
		{"pause alone", "[pause:0.25s]", 400, 1, "0 250"},
		{"longest pause", "[pause:3000s]", 400, 1, "0 60000"},
		{"nothing", "", 400, 1, ""},
		{"marks alone", "…!", 400, 1, "50 50"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			at, heard := 0, 0 // samples, bytes of the text
			for c, err := range Speak(t.Context(), plain{tt.limit}, p, Request{Text: tt.text, Voice: "af_plain", Speed: tt.speed}) {
				if err != nil {
					t.Fatal(err)
				}
				first := slices.Index(c.Samples, 0.5)
				last := len(c.Samples)
				for last > 0 && c.Samples[last-1] != 0.5 {
					last--
				}
				if first < 0 {
					first = 0
				}
				got = append(got, fmt.Sprintf("%d %d", first/10, (len(c.Samples)-last)/10))
				if last-first != 100*c.Symbols {
					t.Errorf("%d samples are heard, want those of %d symbols", last-first, c.Symbols)
				}
				if len(c.Words) > 0 {
					from, to := c.Words[0].From*plainRate, c.Words[len(c.Words)-1].To*plainRate
					mark := 0.0
					if at == 0 && strings.HasPrefix(tt.text, "“") {
						mark = 100
					}
					if math.Abs(from-mark-float64(at+first)) > 1 || to > float64(at+last)+1 {
						t.Errorf("words from sample %.0f to %.0f, sound from %d to %d", from, to, at+first, at+last)
					}
				}
				if c.Start != heard {
					t.Errorf("a chunk begins with byte %d of the text, want %d", c.Start, heard)
				}
				at, heard = at+len(c.Samples), c.End
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("%s; want %s", got, tt.want)
			}
			if heard != len(tt.text) && tt.want != "" {
				t.Errorf("%d of %d bytes are said", heard, len(tt.text))
			}
		})
	}
}

// Both ends are faded over 8 ms with equal power; what is added is zero, and sound is left alone.
func TestFades(t *testing.T) {
	samples, _, _ := plain{}.Speak(t.Context(), []rune("abc"), "", 1, 0)
	got, cut := trim(samples, plainRate, 0.050, 1)
	if want := 3000 - 500; cut != want {
		t.Fatalf("%d samples are cut off, want %d", cut, want)
	}
	if want := 500 + 300 + 10000; len(got) != want {
		t.Fatalf("%d samples are left, want %d", len(got), want)
	}
	for i, x := range got {
		want := plainQuiet
		switch {
		case i < 80:
			want *= math.Sin(math.Pi / 2 * (float64(i) + 0.5) / 80)
		case i >= 500 && i < 800:
			want = 0.5
		case i >= 800+9000:
			want = 0
		case i >= 800+9000-80:
			want *= math.Sin(math.Pi / 2 * (float64(800+9000-1-i) + 0.5) / 80)
		}
		if math.Abs(float64(x)-want) > 1e-7 {
			t.Fatalf("sample %d is %g, want %g", i, x, want)
		}
	}
	samples, _, _ = plain{}.Speak(t.Context(), []rune("abc"), "", 1, 0)
	got, _ = trim(samples, plainRate, 1, 0.050)
	if want := 3000 + 300 + 500; len(got) != want {
		t.Fatalf("%d samples are left, want %d", len(got), want)
	}
	for i := range 81 {
		want := plainQuiet
		if i < 80 {
			want *= math.Sin(math.Pi / 2 * (float64(i) + 0.5) / 80)
		}
		if x := float64(got[len(got)-1-i]); math.Abs(x-want) > 1e-7 {
			t.Fatalf("sample %d from the end is %g, want %g", i, x, want)
		}
		if x := float64(got[i]); math.Abs(x-want) > 1e-7 {
			t.Fatalf("sample %d is %g, want %g", i, x, want)
		}
	}
}

// Silence is what stays below -45 dBFS.
func TestFloor(t *testing.T) {
	for _, tt := range []struct {
		level float32
		loud  bool
	}{{0.0056, false}, {-0.0056, false}, {0.0057, true}, {-0.0057, true}} {
		x := make([]float32, 300)
		x[100] = tt.level
		got, _ := trim(x, 1000, 0.010, 0.020)
		want := 20 // of silence nothing but what is added is left
		if tt.loud {
			want = 10 + 1 + 20
		}
		if len(got) != want {
			t.Errorf("of a sample of %g %d are left, want %d", tt.level, len(got), want)
		}
	}
}

// TestSSML: prosody changes tempo, volume and, of a voice that can, pitch; what a voice
// cannot do is refused before anything is heard.
func TestSSML(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	speak := func(s Synth, voice, text string) (samples []float32, words []Word, err error) {
		for c, err := range Speak(t.Context(), s, p, Request{Text: text, Voice: voice, Speed: 1, SSML: true}) {
			if err != nil {
				return nil, nil, err
			}
			samples, words = append(samples, c.Samples...), append(words, c.Words...)
		}
		return samples, words, nil
	}
	usual, words, err := speak(Formant(), "am_adam", "<speak>Tell me the &lt;whole&gt; story again.</speak>")
	if err != nil || len(words) < 5 {
		t.Fatal(words, err)
	}
	slow, _, err := speak(Formant(), "am_adam", `<speak><prosody rate="50%">Tell me the story again.</prosody></speak>`)
	plain1, _, err2 := speak(Formant(), "am_adam", `<speak>Tell me the story again.</speak>`)
	if err != nil || err2 != nil || len(slow) < len(plain1)*3/2 {
		t.Errorf("half as fast: %d samples, of %d; %v %v", len(slow), len(plain1), err, err2)
	}
	high, _, err := speak(Formant(), "am_adam", `<speak><prosody pitch="+6st">Tell me the story again.</prosody></speak>`)
	if err != nil || len(high) == 0 || slices.Equal(high, plain1) {
		t.Errorf("six semitones higher: %d samples, %v", len(high), err)
	}
	if len(usual) == 0 {
		t.Error("nothing is heard")
	}
	soft, words, err := speak(plain{400}, "af_plain", `<speak>one two <prosody volume="-6dB">three four five</prosody> six seven</speak>`)
	if err != nil {
		t.Fatal(err)
	}
	middle := func(w Word) float32 { return soft[int((w.From+w.To)/2*plainRate)] }
	for i, want := range []float32{0.5, 0.5, 0.25, 0.25, 0.25, 0.5, 0.5} {
		if got := middle(words[i]); math.Abs(float64(got-want)) > 0.01 {
			t.Errorf("%s has level %.3f, want %.2f", words[i].Said, got, want)
		}
	}
	for text, want := range map[string]string{`<speak><prosody pitch="+1st">a</prosody></speak>`: "plain has no pitch", `<speak><audio/></speak>`: "<audio>"} {
		if samples, _, err := speak(plain{400}, "af_plain", text); err == nil || !strings.Contains(err.Error(), want) || samples != nil {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestSilence: a short text cannot ask for days of it.
func TestSilence(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		text string
		ssml bool
		want error
	}{
		"an hour":         {strings.Repeat("[pause:60s]", 60), false, nil},
		"more":            {strings.Repeat("[pause:60s]", 61), false, ErrSilence},
		"more of SSML":    {"<speak>" + strings.Repeat("<break time='40s'/>", 91) + "</speak>", true, ErrSilence},
		"an hour of SSML": {"<speak>" + strings.Repeat("<break time='40s'/>", 90) + "</speak>", true, nil},
	} {
		for _, err := range Speak(t.Context(), plain{400}, p, Request{Text: tt.text, SSML: tt.ssml, Voice: "af_plain", Speed: 1}) {
			if !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			break
		}
	}
}
