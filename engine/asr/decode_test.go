package asr

import (
	"context"
	"slices"
	"testing"

	"quern/engine/asr/audio"
	"quern/engine/token"
)

// A decoded is a golden result of decoding one window.
type decoded struct {
	Tokens     []token.ID `json:"tokens"`
	Text       string     `json:"text"`
	AvgLogprob float64    `json:"avg_logprob"`
	NoSpeech   float64    `json:"no_speech_prob"`
	Ratio      float64    `json:"compression_ratio"`
}

type tinyGolden struct {
	Greedy    decoded    `json:"greedy_timestamps"`
	Plain     decoded    `json:"greedy_no_timestamps"`
	Beam      decoded    `json:"beam5_timestamps"`
	Prefix    decoded    `json:"greedy_prompt_prefix"`
	Languages [][2]any   `json:"language_top5"`
	Start     []token.ID `json:"sot_sequence"`
	Text      string     `json:"text"`
	Prompt    []token.ID `json:"prompt_ids"`
	NonSpeech []token.ID `json:"non_speech_tokens"`
	Special   struct {
		EOT          token.ID `json:"eot"`
		SOT          token.ID `json:"sot"`
		Transcribe   token.ID `json:"transcribe"`
		Translate    token.ID `json:"translate"`
		SOTLM        token.ID `json:"sot_lm"`
		SOTPrev      token.ID `json:"sot_prev"`
		NoSpeech     token.ID `json:"no_speech"`
		NoTimestamps token.ID `json:"no_timestamps"`
		Stamp0       token.ID `json:"timestamp_begin"`
	} `json:"special"`
	Words []struct {
		Word        string     `json:"word"`
		Tokens      []token.ID `json:"tokens"`
		Start       float64    `json:"start"`
		End         float64    `json:"end"`
		Probability float64    `json:"probability"`
	} `json:"word_alignment"`
	Frames int `json:"content_frames"`
	DTW    struct {
		Text []int `json:"text_indices"`
		Time []int `json:"time_indices"`
	} `json:"dtw"`
	Transcribe struct {
		Text     string `json:"text"`
		Segments []struct {
			ID     int        `json:"id"`
			Seek   int        `json:"seek"`
			Start  float64    `json:"start"`
			End    float64    `json:"end"`
			Tokens []token.ID `json:"tokens"`
			decoded
		} `json:"segments"`
	} `json:"transcribe"`
}

// tinyModel is the random model of the fixtures with the reference's list of
// barred tokens, which lets language tokens into a transcript.
func tinyModel(t testing.TB) (*Model, *tinyGolden) {
	t.Helper()
	m := open(t, shared(t, "whisper/hf_tiny"), exact)
	g := new(tinyGolden)
	goldenJSON(t, shared(t, "whisper/hf_tiny_golden.json"), g)
	m.times = nil // which the reference lets into transcripts without times
	m.suppress = append(slices.Clone(g.NonSpeech), g.Special.Transcribe, g.Special.Translate, g.Special.SOT, g.Special.SOTPrev, g.Special.SOTLM, g.Special.NoSpeech)
	return m, g
}

func TestSpecialTokens(t *testing.T) {
	m, g := tinyModel(t)
	s, w := m.special, g.Special
	if s.eot != w.EOT || s.sot != w.SOT || s.transcribe != w.Transcribe || s.translate != w.Translate || s.sotLM != w.SOTLM ||
		s.sotPrev != w.SOTPrev || s.noSpeech != w.NoSpeech || s.noTimestamps != w.NoTimestamps || s.stamp0 != w.Stamp0 {
		t.Errorf("special tokens %+v, want %+v", s, w)
	}
	if got := annotationTokens(m.vocab); !slices.Equal(got, g.NonSpeech) {
		t.Errorf("annotations are\n%v, want\n%v", got, g.NonSpeech)
	}
	if got := m.start("en", false, true); !slices.Equal(got, g.Start) {
		t.Errorf("a transcript starts with %v, want %v", got, g.Start)
	}
	if len(s.languages) != 99 {
		t.Errorf("%d languages, want 99", len(s.languages))
	}
}

func TestDecodeGolden(t *testing.T) {
	m, g := tinyModel(t)
	ctx := context.Background()
	w, err := m.encode(ctx, jfk(t, 80), 5)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, tt := range []struct {
		name string
		o    decodeOptions
		want decoded
	}{
		{"greedy", decodeOptions{stamps: true}, g.Greedy},
		{"beam", decodeOptions{stamps: true, beams: 5, limit: 32}, g.Beam},
		{"no times", decodeOptions{limit: 48}, g.Plain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.language = "en"
			d, err := w.decode(ctx, &tt.o, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.tokens, tt.want.Tokens) {
				t.Errorf("tokens\n%v, want\n%v", d.tokens, tt.want.Tokens)
			}
			if d.text != tt.want.Text {
				t.Errorf("text %q, want %q", d.text, tt.want.Text)
			}
			if !near(d.avgLogprob, tt.want.AvgLogprob, 1e-5) || !near(d.ratio/tt.want.Ratio, 1, 0.03) || !near(d.noSpeech/tt.want.NoSpeech, 1, 1e-4) {
				t.Errorf("avg_logprob %g, ratio %g, no speech %g; want %g, %g, %g", d.avgLogprob, d.ratio, d.noSpeech, tt.want.AvgLogprob, tt.want.Ratio, tt.want.NoSpeech)
			}
		})
	}
}

func TestPrompt(t *testing.T) {
	m := small(t)
	s := m.special
	count := func(from, n int) []token.ID {
		var list []token.ID
		for i := range n {
			list = append(list, token.ID(from+i))
		}
		return list
	}
	for _, tt := range []struct {
		name string
		o    decodeOptions
		want []token.ID
		sot  int
	}{
		{"nothing", decodeOptions{language: "de", stamps: true}, []token.ID{s.sot, s.languages["de"], s.transcribe}, 0},
		{"no times", decodeOptions{language: "en", translate: true}, []token.ID{s.sot, s.languages["en"], s.translate, s.noTimestamps}, 0},
		{"all", decodeOptions{language: "en", stamps: true, context: count(1, 2), prefix: count(7, 2)},
			[]token.ID{s.sotPrev, 1, 2, s.sot, s.languages["en"], s.transcribe, 7, 8}, 3},
		{"too much", decodeOptions{language: "en", stamps: true, context: count(1, 500), prefix: count(1000, 500)},
			slices.Concat([]token.ID{s.sotPrev}, count(278, 223), []token.ID{s.sot, s.languages["en"], s.transcribe}, count(1391, 109)), 224},
	} {
		got, sot := m.prompt(&tt.o)
		if !slices.Equal(got, tt.want) || sot != tt.sot {
			t.Errorf("%s: %v from %d, want %v from %d", tt.name, got, sot, tt.want, tt.sot)
		}
	}
	// Keywords come first and stay; of the rest the latest is kept.
	o := Options{Keywords: []string{"1", "2"}, Prompt: "3"}
	src := audio.Samples(nil)
	c := (&transcriber{m: m, o: &o}).newClip(audio.NewReader(&src), 0)
	c.said = count(100, 400)
	got := c.before()
	if len(got) != 223 || !slices.Equal(got[:len(m.encodeText("1, 2"))], m.encodeText("1, 2")) || got[222] != 499 {
		t.Errorf("before the window stands %v", got)
	}
}
