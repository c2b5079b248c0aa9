package formant

import (
	"context"
	"errors"
	"math"
	"math/cmplx"
	"slices"
	"testing"
)

const sentence = "həlˈO ðˈɛɹ. ðˈɪs ɪz ɐ tˈɛst ʌv spˈiʧ sˈɪnθəsɪs, ænd ɪt hæz θɹˈi sˈɛntᵊnsᵻz. ˈɑɹ ju ɹˈɛdi?"

func speak(t testing.TB, v *Voice, text string, speed float64) ([]float32, []int) {
	t.Helper()
	samples, spans, err := v.Speak(context.Background(), []rune(text), speed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return samples, spans
}

func TestVoices(t *testing.T) {
	for i := range Voices {
		v := &Voices[i]
		samples, spans := speak(t, v, sentence, 1)
		total := 0
		for _, n := range spans {
			total += n
		}
		if want := len([]rune(sentence)) + 2; len(spans) != want || total != len(samples) {
			t.Errorf("%s: %d spans of %d samples; want %d of %d", v.ID, len(spans), total, want, len(samples))
		}
		if s := float64(len(samples)) / Rate; s < 4.5 || s > 6.5 {
			t.Errorf("%s speaks for %.2f s; want about 5.5", v.ID, s)
		}
		var peak, power float64
		for _, x := range samples {
			peak = max(peak, math.Abs(float64(x)))
			power += float64(x) * float64(x)
		}
		if peak > 0.95 {
			t.Errorf("%s: peak %.3f; want at most 0.95", v.ID, peak)
		}
		if db := 10 * math.Log10(power/float64(len(samples))); math.Abs(db+20) > 1 {
			t.Errorf("%s: loudness %.1f dB; want -20, as the others", v.ID, db)
		}
		if samples[0] != 0 || math.Abs(float64(samples[len(samples)-1])) > 1e-3 {
			t.Errorf("%s: begins with %g and ends with %g; want silence", v.ID, samples[0], samples[len(samples)-1])
		}
		again, _ := speak(t, v, sentence, 1)
		if !slices.Equal(samples, again) {
			t.Errorf("%s says the same sentence differently the second time", v.ID)
		}
	}
	if _, ok := Find("af_bella"); !ok {
		t.Error("af_bella is missing")
	}
	if _, ok := Find("nobody"); ok {
		t.Error("found a voice that does not exist")
	}
}

func TestSpeed(t *testing.T) {
	v := &Voices[5]
	one, _ := speak(t, v, sentence, 1)
	two, _ := speak(t, v, sentence, 2)
	if r := float64(len(one)) / float64(len(two)); math.Abs(r-2) > 0.02 {
		t.Errorf("speed 2 shortens by %.3f", r)
	}
}

// TestFormants measures the first two formants in the middle of long vowels by
// linear prediction and compares them with the table.
func TestFormants(t *testing.T) {
	v := &Voices[5] // the voice whose tract is the table's
	for _, r := range "iɪɛæɑɔʌuɜ" {
		text := "hˈ" + string(r) + "ːd"
		samples, spans := speak(t, v, text, 0.5)
		from := spans[0] + spans[1]
		mid := samples[from+spans[3]/2-600 : from+spans[3]/2+600]
		got := formants(mid)
		want := phones()[r][0].target.f
		for k := range 2 {
			if k >= len(got) || math.Abs(got[k]-want[k]) > 0.15*want[k] {
				t.Errorf("%c: formants %.0f; want %.0f within 15 %%", r, got, want[:2])
				break
			}
		}
	}
}

// formants returns the resonances of x below 4 kHz by linear prediction of order
// 10 at 8 kHz (autocorrelation method, Levinson–Durbin), lowest first.
func formants(x []float32) []float64 {
	const rate, order = 8000, 10
	// A windowed mean of three keeps what folds over below 20 dB.
	var y []float64
	for i := 3; i+3 < len(x); i += Rate / rate {
		s := 0.0
		for k, w := range [...]float64{1, 2, 3, 3, 3, 2, 1} {
			s += w * float64(x[i-3+k])
		}
		y = append(y, s)
	}
	for i := len(y) - 1; i > 0; i-- {
		y[i] -= 0.9 * y[i-1]
	}
	for i := range y {
		y[i] *= 0.54 - 0.46*math.Cos(2*math.Pi*float64(i)/float64(len(y)-1))
	}
	r := make([]float64, order+1)
	for k := range r {
		for i := k; i < len(y); i++ {
			r[k] += y[i] * y[i-k]
		}
	}
	a := make([]float64, order+1)
	a[0] = 1
	e := r[0]
	for i := 1; i <= order; i++ {
		s := 0.0
		for j := range i {
			s += a[j] * r[i-j]
		}
		k := -s / e
		b := slices.Clone(a)
		for j := 1; j <= i; j++ {
			a[j] = b[j] + k*b[i-j]
		}
		e *= 1 - k*k
	}
	// Peaks of 1/|A| on a 5 Hz grid.
	gain := func(f float64) float64 {
		s := complex(0, 0)
		for j, c := range a {
			s += complex(c, 0) * cmplx.Exp(complex(0, -2*math.Pi*f/rate*float64(j)))
		}
		return 1 / cmplx.Abs(s)
	}
	var peaks []float64
	for f := 150.0; f < 3900; f += 5 {
		if g := gain(f); g > gain(f-5) && g >= gain(f+5) {
			peaks = append(peaks, f)
		}
	}
	return peaks
}

// TestClicks looks for steps: a sample that jumps by more than any glottal pulse
// or burst of the same speech does.
func TestClicks(t *testing.T) {
	for _, text := range []string{"mˈɑ lˈɑ nˈɑ", "ˈi ˈu ˈɑ ˈO ˈI", sentence} {
		v := Voices[5]
		v.Breath = 0
		samples, spans := speak(t, &v, text, 1)
		// In the silences nothing may be heard at all.
		for i, x := range samples[:spans[0]/2] {
			if x != 0 {
				t.Fatalf("%q: sample %d of the leading silence is %g", text, i, x)
			}
		}
		worst := 0.0
		for i := 1; i < len(samples); i++ {
			worst = max(worst, math.Abs(float64(samples[i]-samples[i-1])))
		}
		if worst > 0.5 {
			t.Errorf("%q: a step of %.2f", text, worst)
		}
	}
}

// TestFloor: a sample's noise depends on its place in the answer, not on the pieces it
// is made in; it is quiet, different everywhere, and never lifts a sample past the top.
func TestFloor(t *testing.T) {
	const n = 48000
	whole, pieces := make([]float32, n), make([]float32, n)
	Floor(whole, 100, 3)
	for at, k := 0, 1; at < n; at, k = at+k, 2*k+1 {
		Floor(pieces[at:min(at+k, n)], 100+at, 3)
	}
	if !slices.Equal(whole, pieces) {
		t.Error("an answer in pieces has another floor")
	}
	power := 0.0
	for _, x := range whole {
		power += float64(x) * float64(x)
	}
	if db := 10 * math.Log10(power/n); math.Abs(db+72) > 0.2 {
		t.Errorf("the floor lies at %.1f dBFS; want -72", db)
	}
	other := make([]float32, n)
	Floor(other, 100, 4)
	if slices.Equal(whole, other) {
		t.Error("another seed has the same floor")
	}
	loud := slices.Repeat([]float32{0.95, -0.95}, 500)
	Floor(loud, 0, 0)
	if slices.Max(loud) > 0.95 || slices.Min(loud) < -0.95 {
		t.Errorf("the floor lifts the loudest samples to %g and %g", slices.Min(loud), slices.Max(loud))
	}
}

func TestIntonation(t *testing.T) {
	pitch := func(text string) (start, end float64) {
		symbols := []rune(text)
		segs := plan(listen(symbols))
		m := melody{points: contour(segs, symbols, 1)}
		total := 0.0
		for _, g := range segs[:len(segs)-1] {
			total += g.ms
		}
		for ms := 0.0; ms < total-2; ms += 2.5 {
			end = m.at(ms)
			if ms < 60 {
				start = end
			}
		}
		return start, end
	}
	const words = "ju ɑɹ ɹˈɛdi"
	start, end := pitch(words + ".")
	if end >= start-2 {
		t.Errorf("a statement goes from %.1f to %.1f semitones; want a fall", start, end)
	}
	start, end = pitch(words + "?")
	if end <= start+2 {
		t.Errorf("a question goes from %.1f to %.1f semitones; want a rise", start, end)
	}
}

func TestStressLengthens(t *testing.T) {
	v := &Voices[5]
	_, a := speak(t, v, "bˈʌtə bʌtə", 1)
	if stressed, not := a[1+2], a[1+7]; stressed <= not {
		t.Errorf("a stressed vowel has %d samples, the same one without stress %d", stressed, not)
	}
}

func TestErrors(t *testing.T) {
	v := &Voices[0]
	if _, _, err := v.Speak(context.Background(), make([]rune, MaxSymbols+1), 1, 0); err == nil {
		t.Error("an endless utterance is spoken")
	}
	for _, speed := range []float64{0, -1, 0.2, 5, math.NaN()} {
		if _, _, err := v.Speak(context.Background(), []rune("hˈI"), speed, 0); err == nil {
			t.Errorf("speed %g is spoken", speed)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := v.Speak(ctx, []rune(sentence), 1, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A segment's last sample may lie past its end by less than a sample, also where
// no transition ends it.
func TestPastTheEnd(t *testing.T) {
	segs := plan(listen([]rune("n,a")))
	for i := range segs {
		track := newTrack(segs, i, segs[0].target)
		p := track.at(segs[i].ms + 0.5*1000/Rate)
		for _, x := range append(p.f[:], p.b[:]...) {
			if math.IsNaN(x) {
				t.Fatalf("segment %d of %d: formants %g, bandwidths %g", i, len(segs), p.f, p.b)
			}
		}
	}
}

// FuzzSpeak says anything.
func FuzzSpeak(f *testing.F) {
	f.Add(sentence, 1.0)
	f.Add("ˈˈˌːː,,..ʰʰkkkkʔʔ", 0.5)
	f.Add("", 2.0)
	f.Add("00n00", 0.6000000000000001)
	f.Fuzz(func(t *testing.T, text string, speed float64) {
		symbols := []rune(text)
		if len(symbols) > 60 {
			symbols = symbols[:60]
		}
		samples, spans, err := Voices[len(text)%len(Voices)].Speak(context.Background(), symbols, speed, 1)
		if err != nil {
			return
		}
		total := 0
		for _, n := range spans {
			total += n
		}
		if total != len(samples) {
			t.Fatalf("spans of %d samples; there are %d", total, len(samples))
		}
		for i, x := range samples {
			if !(x >= -0.95 && x <= 0.95) {
				t.Fatalf("sample %d is %g", i, x)
			}
		}
	})
}

func BenchmarkSpeak(b *testing.B) {
	symbols := []rune(sentence)
	n := 0
	for b.Loop() {
		samples, _, err := Voices[0].Speak(context.Background(), symbols, 1, 0)
		if err != nil {
			b.Fatal(err)
		}
		n += len(samples)
	}
	b.ReportMetric(float64(n)/Rate/b.Elapsed().Seconds(), "x-real-time")
}
