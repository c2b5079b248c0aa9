package live_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"quern/engine"
	"quern/engine/asr/heard"
	"quern/engine/live"
)

// Sound of tests: word n is samples of the value (n+1)/8192, silence is zero.
type sound []float32

func (s *sound) silence(seconds float64) {
	*s = append(*s, make(sound, int(seconds*engine.HearingRate))...)
}

func (s *sound) say(from, n int, each, gap float64) {
	for w := from; w < from+n; w++ {
		for range int(each * engine.HearingRate) {
			*s = append(*s, float32(w+1)/8192)
		}
		s.silence(gap)
	}
}

// A loud detector takes for speech what is not zero.
type loud struct{}

func (loud) Listen() engine.Listener { return loud{} }
func (loud) Hear(x []float32) float32 {
	n := 0
	for _, v := range x {
		if v != 0 {
			n++
		}
	}
	return float32(n) / float32(len(x))
}

// A fake recogniser returns the words of a sound. Of one that is cut short it returns another.
type fake struct {
	word    func(n, run int) string // nil is plain
	each    float64                 // seconds of a whole word
	runs    int
	longest int
	err     func(run int) error
}

func plain(n, _ int) string { return fmt.Sprintf(" w%d", n) }

func (f *fake) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return func(yield func(engine.Segment, error) bool) {
		run := f.runs
		f.runs++
		if f.err != nil {
			if err := f.err(run); err != nil {
				yield(engine.Segment{}, err)
				return
			}
		}
		var all []float32
		buf := make([]float32, 1000)
		for {
			n, err := r.Source.Read(buf)
			all = append(all, buf[:n]...)
			if err == io.EOF {
				break
			}
		}
		f.longest = max(f.longest, len(all))
		seconds := func(i int) float64 { return float64(i) / engine.HearingRate }
		r.Info.Language, r.Info.Probability, r.Info.Duration = "en", 0.9, seconds(len(all))
		s := engine.Segment{End: seconds(len(all))}
		name := f.word
		if name == nil {
			name = plain
		}
		for i := 0; i < len(all); {
			if all[i] == 0 {
				i++
				continue
			}
			from, v := i, all[i]
			for i < len(all) && all[i] == v {
				i++
			}
			text := name(int(math.Round(float64(v)*8192))-1, run)
			if seconds(i-from) < f.each*0.7 {
				text = strings.Replace(text, " ", " ~", 1)
			}
			s.Text += text
			if r.Words {
				s.Words = append(s.Words, heard.Word{Text: text, Start: seconds(from), End: seconds(i), Probability: 1})
			}
			if r.Logprobs {
				s.Logprobs = append(s.Logprobs, heard.TokenLogprob{Bytes: []byte(text), Logprob: -1})
			}
		}
		if s.Text != "" {
			yield(s, nil)
		}
	}
}

// hear transcribes a sound that comes in chunks of so many samples, each when what came
// before is dealt with.
func hear(t testing.TB, f live.Recogniser, x sound, chunk int, o live.Options) []live.Update {
	t.Helper()
	var list []live.Update
	o.Detector = loud{}
	synctest.Test(t.(*testing.T), func(t *testing.T) {
		feed := live.NewFeed(0)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for u, err := range live.Transcribe(t.Context(), f, feed, o) {
				if err != nil {
					t.Error(err)
					return
				}
				list = append(list, u)
			}
		}()
		for len(x) > 0 {
			n := min(chunk, len(x))
			if err := feed.Write(t.Context(), x[:n]); err != nil {
				t.Error(err)
			}
			x = x[n:]
			synctest.Wait()
		}
		feed.Close(nil)
		<-done
	})
	return list
}

func joined(list []live.Update) string {
	var b strings.Builder
	for _, u := range list {
		b.WriteString(u.Text)
	}
	return b.String()
}

func words(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		b.WriteString(plain(i, 0))
	}
	return b.String()
}

const tick = engine.HearingRate / 50 // 20 ms

// TestSettles: text comes while the speaker goes on, in order, once, and soon after it was
// said: two steps and what a word lasts.
func TestSettles(t *testing.T) {
	for _, chunk := range []int{tick, engine.HearingRate / 2, 1 << 20} {
		var x sound
		x.silence(1)
		x.say(0, 30, 0.4, 0.06)
		x.silence(2)
		x.say(30, 5, 0.4, 0.06)
		f := &fake{each: 0.4}
		var cost live.Cost
		var info engine.TranscribeInfo
		list := hear(t, f, x, chunk, live.Options{Cost: &cost, Request: engine.TranscribeRequest{TranscribeOptions: engine.TranscribeOptions{Words: true, Logprobs: true, Info: &info}}})
		if got, want := joined(list), strings.TrimLeft(words(0, 35), " "); got != want {
			t.Errorf("chunks of %d: %q, want %q", chunk, got, want)
		}
		said := 0
		for _, u := range list {
			if len(u.Words) != len(u.Logprobs) {
				t.Errorf("%q has %d words and %d tokens", u.Text, len(u.Words), len(u.Logprobs))
			}
			for _, w := range u.Words {
				if strings.TrimSpace(w.Text) != fmt.Sprintf("w%d", said) {
					t.Errorf("word %d is %q", said, w.Text)
				}
				begin := 1 + 0.46*float64(said)
				if said >= 30 {
					begin += 2
				}
				if math.Abs(w.Start-begin) > 0.01 || math.Abs(w.End-begin-0.4) > 0.01 {
					t.Errorf("chunks of %d: %s from %.2f to %.2f, was said at %.2f", chunk, w.Text, w.Start, w.End, begin)
				}
				if late := u.Heard - w.End; chunk == tick && late > 2.3 {
					t.Errorf("%s is settled %.2f s after it was said", w.Text, late)
				}
				said++
			}
		}
		if said != 35 || info.Language != "en" || info.Duration != float64(len(x))/engine.HearingRate {
			t.Errorf("%d words; %+v", said, info)
		}
		if chunk == 1<<20 && (cost.Runs > cost.Pieces+1 || cost.Pieces != 2) {
			t.Errorf("sound that is there is written down %d times in %d pieces", cost.Runs, cost.Pieces)
		}
		if cost.Runs != f.runs {
			t.Errorf("%d runs, counted %d", f.runs, cost.Runs)
		}
	}
}

// TestWhole: with Whole nothing is written down twice.
func TestWhole(t *testing.T) {
	var x sound
	x.say(0, 20, 0.4, 0.06)
	x.silence(1)
	f := &fake{each: 0.4}
	list := hear(t, f, x, tick, live.Options{Whole: true})
	if f.runs != 1 || len(list) != 1 || !list[0].Final || list[0].Tail != "" {
		t.Errorf("%d runs, %+v", f.runs, list)
	}
}

// TestEndless: who never pauses is cut between words, or at last through one, and no run
// hears more than the longest piece.
func TestEndless(t *testing.T) {
	var x sound
	x.say(0, 400, 0.45, 0.2)
	f := &fake{each: 0.45}
	list := hear(t, f, x, engine.HearingRate/5, live.Options{})
	if got, want := joined(list), strings.TrimLeft(words(0, 400), " "); got != want {
		t.Errorf("%q", got)
	}
	if most := 24 * engine.HearingRate; f.longest > most {
		t.Errorf("a run heard %d samples, more than %d", f.longest, most)
	}
	x = nil
	x.say(0, 300, 0.5, 0)
	f = &fake{each: 0.5}
	list = hear(t, f, x, engine.HearingRate/5, live.Options{})
	missing := 0
	got := strings.Fields(joined(list))
	for i := range 300 {
		if !slices.Contains(got, fmt.Sprintf("w%d", i)) {
			missing++
		}
	}
	if most := 24*engine.HearingRate + engine.Hop; f.longest > most || missing > 6 || len(got) > 306 {
		t.Errorf("without a pause: runs of %d samples, %d of %d words missing", f.longest, missing, len(got))
	}
}

// TestMind: a recogniser that changes its mind about what was given out neither takes it
// back nor says it twice.
func TestMind(t *testing.T) {
	for name, word := range map[string]func(n, run int) string{
		"another word": func(n, run int) string {
			if n == 2 && run > 4 {
				return " other"
			}
			return plain(n, run)
		},
		"one more": func(n, run int) string {
			if n == 2 && run > 4 {
				return " w2 more"
			}
			return plain(n, run)
		},
		"one less": func(n, run int) string {
			if n == 2 && run > 4 {
				return ""
			}
			return plain(n, run)
		},
		"capitals": func(n, run int) string {
			if run%2 == 0 {
				return strings.ToUpper(plain(n, run))
			}
			return plain(n, run)
		},
	} {
		var x sound
		x.say(0, 20, 0.4, 0.06)
		x.silence(1)
		got := strings.Fields(strings.ToLower(joined(hear(t, &fake{word: word, each: 0.4}, x, tick, live.Options{}))))
		if want := strings.Fields(words(0, 20)); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPunctuation is given out when the word after it is, as it is then.
func TestPunctuation(t *testing.T) {
	var x sound
	x.say(0, 12, 0.4, 0.06)
	x.silence(1)
	list := hear(t, &fake{each: 0.4, word: func(n, run int) string {
		if n == 11 {
			return " end."
		}
		if n%3 == 2 && run > 1 {
			return plain(n, run) + ","
		}
		return plain(n, run) + map[bool]string{true: ".", false: ""}[run == 0]
	}}, x, tick, live.Options{})
	if got := joined(list); !strings.HasSuffix(got, " w8, w9 w10 end.") || strings.Contains(strings.TrimSuffix(got, "."), ".") {
		t.Errorf("%q", got)
	}
	for _, u := range list {
		if !u.Final && strings.HasSuffix(u.Text, ".") {
			t.Errorf("%q is given out before it is known how it goes on", u.Text)
		}
	}
}

// TestClick: a noise is no piece, and silence is not written down.
func TestClick(t *testing.T) {
	var x sound
	x.silence(3)
	x.say(0, 1, 0.05, 0)
	x.silence(30)
	f := &fake{each: 0.1}
	if list := hear(t, f, x, tick, live.Options{}); f.runs != 0 || len(list) != 0 {
		t.Errorf("%d runs, %+v", f.runs, list)
	}
}

// TestFailures: a guess that finds the queue full is left out; other failures end all.
func TestFailures(t *testing.T) {
	var x sound
	x.say(0, 20, 0.4, 0.06)
	x.silence(1)
	full := engine.Errorf(engine.CodeQueueFull, "", "full")
	list := hear(t, &fake{each: 0.4, err: func(run int) error {
		if run%2 == 1 && run < 7 {
			return full
		}
		return nil
	}}, x, tick, live.Options{})
	if got, want := joined(list), strings.TrimLeft(words(0, 20), " "); got != want {
		t.Errorf("%q", got)
	}
	broken := errors.New("broken")
	for _, want := range []error{broken, full} {
		feed := live.NewFeed(0)
		feed.Write(t.Context(), x)
		feed.Close(nil)
		n := 0
		for _, err := range live.Transcribe(t.Context(), &fake{err: func(int) error { return want }}, feed, live.Options{Detector: loud{}}) {
			if n++; err != want {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if n != 1 {
			t.Errorf("%d updates, want one error", n)
		}
	}
	// What came before the sound broke off is written down.
	feed := live.NewFeed(0)
	feed.Write(t.Context(), x)
	feed.Close(broken)
	var last error
	text := ""
	for u, err := range live.Transcribe(t.Context(), &fake{each: 0.4}, feed, live.Options{Detector: loud{}}) {
		text, last = text+u.Text, err
	}
	if last != broken || text != strings.TrimLeft(words(0, 20), " ") {
		t.Errorf("%q, then %v", text, last)
	}
}

// A stuck recogniser works until it is cancelled.
type stuck struct{ begun, over chan struct{} }

func (s stuck) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return func(yield func(engine.Segment, error) bool) {
		close(s.begun)
		<-ctx.Done()
		close(s.over)
		yield(engine.Segment{}, ctx.Err())
	}
}

// TestCancel: the recogniser stops when the context ends, and so does a wait for sound.
func TestCancel(t *testing.T) {
	for _, waits := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		feed := live.NewFeed(0)
		s := stuck{make(chan struct{}), make(chan struct{})}
		ended := make(chan error)
		go func() {
			var last error
			for _, err := range live.Transcribe(ctx, s, feed, live.Options{Detector: loud{}}) {
				last = err
			}
			ended <- last
		}()
		if !waits {
			var x sound
			x.say(0, 5, 0.5, 0)
			feed.Write(ctx, x)
			<-s.begun
		}
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("waiting: %v; %v", waits, err)
		}
		if !waits {
			<-s.over
		}
	}
}

// TestFeed: who writes waits while it is full, and no longer than that.
func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := live.NewFeed(1000)
		written := false
		go func() {
			feed.Write(t.Context(), make([]float32, 3500))
			written = true
			feed.Close(nil)
		}()
		synctest.Wait()
		if written || feed.Held() != 1000 {
			t.Errorf("written: %v; %d samples are held, want 1000", written, feed.Held())
		}
		for range live.Transcribe(t.Context(), &fake{}, feed, live.Options{Detector: loud{}}) {
		}
		if !written {
			t.Error("what is read makes no room")
		}
		ctx, cancel := context.WithCancel(t.Context())
		full := live.NewFeed(1)
		go func() { synctest.Wait(); cancel() }()
		if err := full.Write(ctx, make([]float32, 2)); err != context.Canceled {
			t.Errorf("a writer who left: %v", err)
		}
	})
}

// TestFigures: what a step costs and gains, with words of 0.4 s and a pause of 1 s after every
// 15 of them; -v shows the table. Words settle no later than two steps and a word after they
// were said, and what is decoded stays below what a step and the length of pieces make of it.
func TestFigures(t *testing.T) {
	var x sound
	for i := range 8 {
		x.say(15*i, 15, 0.4, 0.05)
		x.silence(1)
	}
	length := float64(len(x)) / engine.HearingRate
	for _, step := range []float64{0.5, 1, 2, 3} {
		f := &fake{each: 0.4}
		var cost live.Cost
		list := hear(t, f, x, tick, live.Options{Step: step, Cost: &cost, Request: engine.TranscribeRequest{TranscribeOptions: engine.TranscribeOptions{Words: true}}})
		sum, most, n := 0.0, 0.0, 0
		for _, u := range list {
			for _, w := range u.Words {
				late := u.Heard - w.End
				sum, most, n = sum+late, max(most, late), n+1
			}
		}
		factor := cost.Seconds / length
		t.Logf("step %.1f s: a word settles %.2f s after it was said, %.2f s at most; %d runs in %d pieces, %.2f times the sound; a file takes %.0f windows of 30 s",
			step, sum/float64(n), most, cost.Runs, cost.Pieces, factor, math.Ceil(length/30))
		piece := 15*0.45 + 1
		if n != 120 || most > 2*step+1.1 || factor > piece/step/2+2 {
			t.Errorf("step %v: %d words, %.2f s at most, %.2f times the sound", step, n, most, factor)
		}
	}
}
