package tts

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/formats/weights"
)

func TestParseVoice(t *testing.T) {
	known := func(name string) (string, bool) {
		switch name {
		case "alloy":
			return "af_sarah", true
		case "af_bella", "af_sky":
			return name, true
		}
		return "", false
	}
	for _, tt := range []struct {
		text string
		want []share
	}{
		{"af_bella", []share{{"af_bella", 1}}},
		{"alloy", []share{{"af_sarah", 1}}},
		{"af_bella+af_sky", []share{{"af_bella", 0.5}, {"af_sky", 0.5}}},
		{"af_bella,af_sky", []share{{"af_bella", 0.5}, {"af_sky", 0.5}}},
		{"af_bella(2)+af_sky(1)", []share{{"af_bella", 2. / 3}, {"af_sky", 1. / 3}}},
		{"af_sky.4+af_bella.6", []share{{"af_sky", 0.4}, {"af_bella", 0.6}}},
		{"af_bella(3) - alloy", []share{{"af_bella", 1.5}, {"af_sarah", -0.5}}},
		{"", nil},
		{"nobody", nil},
		{"af_bella+", nil},
		{"af_bella(x)+af_sky", nil},
		{"af_bella(0)+af_sky", nil},
		{"af_bella-af_sky", nil},
		{"af_bella(NaN)", nil},
		{strings.Repeat("af_bella+", maxMix) + "af_sky", nil},
	} {
		got, err := parseVoice(tt.text, known)
		same := slices.EqualFunc(got, tt.want, func(a, b share) bool { return a.id == b.id && math.Abs(a.weight-b.weight) < 1e-9 })
		if !same || (err == nil) != (tt.want != nil) {
			t.Errorf("%q: %v, %v; want %v", tt.text, got, err, tt.want)
		}
		var ve *VoiceError
		if err != nil && !errors.As(err, &ve) {
			t.Errorf("%q: %v is no VoiceError", tt.text, err)
		}
	}
}

func TestStands(t *testing.T) {
	got := slices.DeleteFunc(Stands([]Voice{{ID: "af_sky"}, {ID: "am_echo"}, {ID: "am_adam"}}), func(s Stand) bool { return s.Opaque })
	want := []Stand{{Name: "echo", Label: "Echo", Voice: "am_echo"}, {Name: "shimmer", Label: "Shimmer", Voice: "af_sky"}, {Name: "verse", Label: "Verse", Voice: "am_adam"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	for _, name := range []string{"alloy", "echo", "fable", "onyx", "nova", "shimmer", "af_bella", "af_bella+bm_lewis(2)",
		"21m00Tcm4TlvDq8ikWAM", "JBFqnCBsd6RMkjVDRZzb(2)+pNInz6obpgDQGcFmaJgB"} {
		if err := Check(Formant().Voices(), name); err != nil {
			t.Error(err)
		}
	}
}

// Every stock id of ElevenLabs is spoken for by the built-in voices, and by a voice
// of another model that sounds alike.
func TestStockVoices(t *testing.T) {
	stockOf := func(voices []Voice) map[string]string {
		out := map[string]string{}
		for _, s := range Stands(voices) {
			if s.Opaque {
				out[s.Label] = s.Voice
				if len(s.Name) != 20 {
					t.Errorf("%s has the id %q", s.Label, s.Name)
				}
			}
		}
		return out
	}
	seen := map[string]bool{}
	for _, s := range stock {
		if seen[s.id] {
			t.Errorf("%s is listed twice", s.id)
		}
		seen[s.id] = true
	}
	got := stockOf(Formant().Voices())
	if len(got) != len(stock) {
		t.Errorf("%d of %d are spoken for", len(got), len(stock))
	}
	for name, want := range map[string]string{"Rachel": "af_sarah", "George": "bm_george", "Sarah": "af_sarah", "Adam": "am_adam", "Alice": "bf_emma"} {
		if got[name] != want {
			t.Errorf("%s is spoken by %q, want %q", name, got[name], want)
		}
	}
	got = stockOf([]Voice{{ID: "bm_other"}, {ID: "af_one"}, {ID: "af_two"}, {ID: "custom"}})
	if got["George"] != "bm_other" || got["Rachel"] != "af_one" || got["Adam"] != "" {
		t.Errorf("with other voices: %v", got)
	}
}

// words makes units of n words of five symbols each; a mark behind a word is a
// unit of its own.
func words(text string) []unit {
	var out []unit
	for i, w := range strings.Fields(text) {
		mark := w[len(w)-1]
		if strings.IndexByte(".,!?;", mark) < 0 {
			out = append(out, unit{start: i, said: w, symbols: []rune(w), space: true})
			continue
		}
		w = w[:len(w)-1]
		out = append(out, unit{start: i, said: w, symbols: []rune(w)}, unit{symbols: []rune{rune(mark)}, mark: rune(mark), space: true})
	}
	return out
}

// split cuts units into all their utterances.
func split(s Synth, units []unit) (all []utterance) {
	for c := newSplitter(s); len(units) > 0; {
		n, _ := c.next(units, true)
		var u utterance
		u, units = c.cut(units, n)
		all = append(all, u)
	}
	return all
}

func TestSplit(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("abcde ", 60)) // 359 symbols without a mark
	for _, tt := range []struct {
		name string
		text string
		want []int // symbols of each utterance
	}{
		{"nothing", "", nil},
		{"one", "hello there.", []int{12}},
		{"stumps join", "Hi. How are you today my friend?", []int{32}},
		{"first alone", "This is a first sentence. " + "And this is the second one. And a third one of that.", []int{25, 52}},
		{"clause", strings.Repeat("abcde ", 12) + "abcde, " + strings.Repeat("abcde ", 12) + "abcde.", []int{79, 78}},
		{"no mark", long + ".", []int{360}},
		{"no mark, too long", long + " " + long + ".", []int{245, 245, 228}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			units := words(tt.text)
			var got []int
			said := 0
			for _, u := range split(plain{400}, units) {
				got = append(got, len(u.symbols))
				said += len(u.units)
				if len(u.at) != len(u.units) {
					t.Errorf("%d places for %d units", len(u.at), len(u.units))
				}
				for i, at := range u.at {
					if string(u.symbols[at[0]:at[1]]) != string(u.units[i].symbols) {
						t.Errorf("unit %d is at %v", i, at)
					}
				}
			}
			if len(got) != len(tt.want) || said != len(units) {
				t.Fatalf("utterances of %v symbols with %d of %d units; want %v", got, said, len(units), tt.want)
			}
			for i := range got {
				if d := got[i] - tt.want[i]; d < -6 || d > 6 {
					t.Errorf("utterances of %v symbols; want about %v", got, tt.want)
					break
				}
			}
		})
	}
}

func TestTrim(t *testing.T) {
	const rate = 1000
	x := make([]float32, 1000)
	for i := 300; i < 500; i++ {
		x[i] = 0.5
	}
	got, cut := trim(slices.Clone(x), rate, 0.05, 0.1)
	if cut != 250 || len(got) != 50+200+100 {
		t.Errorf("cut %d, %d samples left; want 250, 350", cut, len(got))
	}
	got, cut = trim(slices.Clone(x), rate, 0.4, 0.8)
	if cut != 0 || len(got) != 500+800 || got[1299] != 0 {
		t.Errorf("cut %d, %d samples left; want 0, 1300", cut, len(got))
	}
	got, cut = trim(make([]float32, 100), rate, 0.05, 0.05)
	if cut != 0 || len(got) != 50 {
		t.Errorf("of silence, cut %d, %d samples left; want 0, 50", cut, len(got))
	}
	if got, _ = trim(nil, rate, 0.05, 0.05); len(got) != 50 {
		t.Errorf("of nothing %d samples are left", len(got))
	}
}

// npyFile is an array as NumPy saves it.
func npyFile(values []float32, descr string) []byte {
	head := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2, 1, 4), }\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestPacks(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openPacks(dir, 4); !errors.Is(err, weights.ErrFormat) {
		t.Errorf("without voices: %v", err)
	}
	values := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	raw := npyFile(values, "<f4")
	raw = raw[len(raw)-32:]
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, data := range map[string][]byte{"am_a.npy": npyFile(values, "<f4"), "am_b.npy": npyFile(values, "<f8"), "../evil.npy": raw} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	header := `{"voice":{"dtype":"F32","shape":[2,1,4],"data_offsets":[0,32]}}`
	st := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	write("voices/af_raw.bin", raw)
	write("voices/af_st.safetensors", append(append(st, header...), raw...))
	write("voices/af_bent.bin", raw[1:])
	write("voices/no good name.bin", raw)
	write("voices-v1.0.bin", archive.Bytes())
	write("model.bin", raw)
	p, err := openPacks(dir, 4)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"af_bent", "af_raw", "af_st", "am_a", "am_b"}; !slices.Equal(p.names, want) {
		t.Errorf("voices %v; want %v", p.names, want)
	}
	for _, name := range []string{"af_raw", "af_st", "am_a"} {
		v, err := p.voice(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := v.Style(2); !slices.Equal(s, values[4:]) {
			t.Errorf("%s: row 2 is %v; want %v", name, s, values[4:])
		}
	}
	if _, err := p.voice("af_bent"); !errors.Is(err, weights.ErrFormat) {
		t.Errorf("31 bytes: %v", err)
	}
	if _, err := p.voice("am_b"); !errors.Is(err, weights.ErrUnsupported) {
		t.Errorf("float64: %v", err)
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(npyFile([]float32{1, 2}, "<f4"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := npy(data)
		if err != nil && !errors.Is(err, weights.ErrFormat) && !errors.Is(err, weights.ErrUnsupported) {
			t.Fatalf("%v wraps neither sentinel", err)
		}
		if 4*len(x) > len(data) {
			t.Fatalf("%d floats of %d bytes", len(x), len(data))
		}
	})
}
