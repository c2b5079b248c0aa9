package asr

import (
	"context"
	"math"
	"slices"
	"testing"

	"quern/engine/asr/audio"
	"quern/engine/token"
	"quern/kernels"
)

func collect(t testing.TB, m *Model, x []float32, o Options) []Segment {
	t.Helper()
	src := audio.Samples(x)
	var list []Segment
	for s, err := range m.Transcribe(context.Background(), &src, o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func near(a, b, eps float64) bool { return math.Abs(a-b) <= eps }

// exactly is how far a probability may be from the reference's. At AMX activations are
// rounded to two pieces of bf16 where weights have 16 bits; see dot.SplitRows.
func exactly() float64 {
	if kernels.Level() == "amx" {
		return 1e-5
	}
	return 1e-6
}

func TestTranscribeGolden(t *testing.T) {
	m, g := tinyModel(t)
	var info Info
	got := collect(t, m, wave(t, shared(t, "whisper/jfk.wav")), Options{Language: "en", Temperatures: []float64{0}, Without: NoGuards, Info: &info})
	if len(got) != len(g.Transcribe.Segments) {
		t.Fatalf("%d segments, want %d: %+v", len(got), len(g.Transcribe.Segments), got)
	}
	text := ""
	for i, s := range got {
		w := g.Transcribe.Segments[i]
		text += s.Text
		if s.ID != w.ID || s.Seek != w.Seek || !near(s.Start, w.Start, 1e-9) || !near(s.End, w.End, 1e-9) || !slices.Equal(s.Tokens, w.Tokens) {
			t.Errorf("segment %d: seek %d, %g to %g, %v; want %d, %g to %g, %v", s.ID, s.Seek, s.Start, s.End, s.Tokens, w.Seek, w.Start, w.End, w.Tokens)
		}
		// Go's compressor finds other matches than zlib.
		if !near(s.AvgLogprob, w.AvgLogprob, 10*exactly()) || !near(s.CompressionRatio/w.Ratio, 1, 0.03) || !near(s.NoSpeechProb/w.NoSpeech, 1, 10*exactly()) {
			t.Errorf("segment %d: avg_logprob %g, ratio %g, no speech %g; want %g, %g, %g", s.ID, s.AvgLogprob, s.CompressionRatio, s.NoSpeechProb, w.AvgLogprob, w.Ratio, w.NoSpeech)
		}
	}
	if text != g.Transcribe.Text {
		t.Errorf("text %q, want %q", text, g.Transcribe.Text)
	}
	if info.Language != "en" || !near(info.Duration, 11, 1e-9) {
		t.Errorf("info %+v", info)
	}
}

func TestLanguageGolden(t *testing.T) {
	m, g := tinyModel(t)
	w, err := m.encode(context.Background(), jfk(t, 80), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	odds, err := w.language(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range g.Languages {
		code, p := l[0].(string), l[1].(float64)
		if !near(odds[code], p, exactly()) {
			t.Errorf("%s: %g, want %g", code, odds[code], p)
		}
	}
	if got := likeliest(odds); got != g.Languages[0][0] {
		t.Errorf("likeliest is %s, want %s", got, g.Languages[0][0])
	}
}

func TestWordsGolden(t *testing.T) {
	m, g := tinyModel(t)
	w, err := m.encode(context.Background(), jfk(t, 80), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	words, err := w.align(context.Background(), m.vocab.encode(g.Text), "en", false, g.Frames)
	if err != nil {
		t.Fatal(err)
	}
	if len(words) != len(g.Words) {
		t.Fatalf("words %+v, want %+v", words, g.Words)
	}
	for i, x := range words {
		want := g.Words[i]
		if x.Text != want.Word || !slices.Equal(x.Tokens, want.Tokens) || !near(x.Start, want.Start, 1e-9) || !near(x.End, want.End, 1e-9) ||
			!near(x.Probability/want.Probability, 1, 1e-4) {
			t.Errorf("%+v, want %+v", x, want)
		}
	}
}

func TestDTWGolden(t *testing.T) {
	_, g := tinyModel(t)
	cost := golden(t, shared(t, "whisper/hf_tiny_golden.safetensors"))("dtw.cost")
	x := make([]float64, len(cost))
	for i, v := range cost {
		x[i] = float64(v)
	}
	rows, cols := dtw(x, 23)
	if !slices.Equal(rows, g.DTW.Text) || !slices.Equal(cols, g.DTW.Time) {
		t.Errorf("path\n%v\n%v, want\n%v\n%v", rows, cols, g.DTW.Text, g.DTW.Time)
	}
}

// The files of whisper.cpp have a vocabulary of their own and the logits of
// every kind of weights.
func TestGGML(t *testing.T) {
	var all map[string]struct {
		Prompt   []token.ID `json:"prompt_ids"`
		Tokens   []token.ID `json:"greedy_tokens"`
		Text     string     `json:"greedy_text"`
		Avg      float64    `json:"avg_logprob"`
		NoSpeech float64    `json:"no_speech_prob"`
	}
	goldenJSON(t, shared(t, "whisper/ggml_golden.json"), &all)
	for kind, g := range all {
		t.Run(kind, func(t *testing.T) {
			m := open(t, shared(t, "whisper/ggml-tiny-"+kind+".bin"), exact)
			want := golden(t, shared(t, "whisper/ggml-tiny-"+kind+".golden.safetensors"))
			made, bins := audio.MelFilters(m.config.mels)
			for i, v := range m.set.Meta.Floats("whisper.mel_filters") {
				if !near(float64(made[i]), v, 1e-7) {
					t.Fatalf("mel filter %d, bin %d: %g, the file has %g", i/bins, i%bins, made[i], v)
				}
			}
			// The goldens let language tokens into a transcript.
			m.suppress = slices.DeleteFunc(m.suppress, func(id token.ID) bool { return id > m.special.sot && id < m.special.translate })
			w, err := m.encodeWith(context.Background(), jfk(t, 80), 1, func(x []float32) {
				first := want("enc.out.first200")
				d := distance(x[:len(first)], first)
				t.Logf("states: %.1e", d)
				if !(d < 1e-4) {
					t.Errorf("states differ by %g", d)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			if err := w.run(context.Background(), w.probe(g.Prompt, func(rows [][]float32) {
				for name, row := range map[string][]float32{"pos0": rows[0], "last": rows[len(rows)-1]} {
					// Activations of quantised matrices are quantised too.
					limit := map[string]float64{"f16": 1e-4, "q8_0": 0.03}[kind]
					d := distance(row, want("dec.logits."+name))
					t.Logf("logits %s: %.1e", name, d)
					if !(d < limit) {
						t.Errorf("logits %s differ by %g", name, d)
					}
				}
			})); err != nil {
				t.Fatal(err)
			}
			d, err := w.decode(context.Background(), &decodeOptions{language: "en", stamps: true, limit: 32}, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("avg_logprob %.5f, want %.5f; no speech %.4g, want %.4g", d.avgLogprob, g.Avg, d.noSpeech, g.NoSpeech)
			if !near(d.avgLogprob, g.Avg, map[string]float64{"f16": 1e-4, "q8_0": 0.05}[kind]) || !near(d.noSpeech/g.NoSpeech, 1, 0.05) {
				t.Errorf("avg_logprob %g, no speech %g; want %g, %g", d.avgLogprob, d.noSpeech, g.Avg, g.NoSpeech)
			}
			if !slices.Equal(d.tokens, g.Tokens) {
				t.Errorf("tokens\n%v, want\n%v", d.tokens, g.Tokens)
			}
		})
	}
}
