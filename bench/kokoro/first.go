package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/codecs"
	"quern/engine/tts"
	"quern/engine/tts/ttstest"
	"quern/kernels/threads"
)

// openings are how answers begin.
var openings = []string{
	"The old mill stands by the river. Every morning the miller opens the gate, and the water begins to turn the heavy wheel.",
	"Sure! Here is a short explanation of how windmills work, from the sails down to the stones between which the grain is ground.",
	"Although none of the villagers had expected it to happen so late in the year, the river froze within a single night.",
	"Windmills were built in Holland to pump water out of the fields and to grind the grain that grew there.",
}

// perSecond is the arithmetic of a second of sound, in GFLOP (SPEECH.md 1.8).
const perSecond = 55.2

// A pool has all threads for one utterance.
type pool struct{ *threads.Pool }

func (p pool) Do(ctx context.Context, f func(*threads.Pool, func())) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f(p.Pool, func() {})
	return nil
}

// patient is a synthesiser whose first utterance may be as long as that of a fast one.
type patient struct{ tts.Synth }

func (patient) First() int { return 0 }

// first measures the first chunk of answers: what is computed until something is heard.
func first(dir string, n, runs int, profile string, out io.Writer) (err error) {
	defer must.Catch(&err)
	begin := stat.CPUTime()
	p := threads.NewPool(n)
	defer p.Close()
	synth := must.Get(tts.OpenKokoro(dir, pool{p}))
	reader := must.Get(tts.NewPronouncer(nil))
	opened := stat.CPUTime() - begin
	if profile != "" {
		f := must.Get(os.Create(profile))
		defer f.Close()
		must.Do(pprof.StartCPUProfile(f))
		defer pprof.StopCPUProfile()
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "opened with %d CPU-ms\n", opened.Milliseconds())
	fmt.Fprintln(w, "first utterance\tsymbols\tsound, s\tGFLOP\tCPU-ms\tleast\tms\tleast\t")
	for i, text := range openings {
		for _, s := range []struct {
			name string
			tts.Synth
		}{{"short", synth}, {"of 100 symbols", patient{synth}}} {
			var cpu, took []float64
			var c tts.Chunk
			for run := range runs {
				at, busy := time.Now(), stat.CPUTime()
				for c, err = range tts.Speak(context.Background(), s.Synth, reader, tts.Request{Text: text, Voice: "af_bella", Speed: 1}) {
					must.Do(err)
					break
				}
				ms := float64((stat.CPUTime() - busy).Microseconds()) / 1000
				if i == 0 && run == 0 && s.name == "short" {
					fmt.Fprintf(out, "the first of all took %.0f CPU-ms, %d ms\n", ms, time.Since(at).Milliseconds())
				}
				cpu, took = append(cpu, ms), append(took, float64(time.Since(at).Microseconds())/1000)
			}
			seconds := float64(len(c.Samples)) / float64(synth.Rate())
			fmt.Fprintf(w, "%s, %q\t%d\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", s.name, text[:c.End], c.Symbols, seconds, perSecond*seconds,
				stat.Median(stat.Values(cpu, same)), slices.Min(cpu), stat.Median(stat.Values(took, same)), slices.Min(took))
		}
	}
	must.Do(w.Flush())
	must.Do(parts(out, reader, synth, runs))
	return joins(out, reader, synth, tts.Formant())
}

// parts says what else the first opening waits for: its phonemes, and its sound in each format,
// which is sent when all of the utterance is encoded.
func parts(out io.Writer, reader *tts.Pronouncer, synth tts.Synth, runs int) (err error) {
	defer must.Catch(&err)
	least := func(do func() error) (ms float64) {
		for run := range runs {
			at := stat.CPUTime()
			must.Do(do())
			if took := float64((stat.CPUTime() - at).Microseconds()) / 1000; run == 0 || took < ms {
				ms = took
			}
		}
		return ms
	}
	ctx, text := context.Background(), openings[0]
	fmt.Fprintf(out, "CPU-ms of %q: phonemes %.1f", text, least(func() error {
		_, err := reader.Phonemize(ctx, tts.Text{Text: text, Language: "en-US"})
		return err
	}))
	var c tts.Chunk
	for c, err = range tts.Speak(ctx, synth, reader, tts.Request{Text: text, Voice: "af_bella", Speed: 1}) {
		must.Do(err)
		break
	}
	for _, f := range codecs.Encodings() {
		fmt.Fprintf(out, ", %s %.1f", f.Name, least(func() error {
			e, err := f.Create(io.Discard, synth.Rate(), 1, codecs.EncodeOptions{Speech: true, Streamed: true})
			if err != nil {
				return err
			}
			return e.Write(c.Samples)
		}))
	}
	fmt.Fprintln(out)
	return nil
}

// joins measures how much the high band stands out where utterances meet.
func joins(out io.Writer, reader *tts.Pronouncer, synths ...tts.Synth) error {
	for _, s := range synths {
		var samples []float32
		var joins []int
		for c, err := range tts.Speak(context.Background(), s, reader, tts.Request{Text: strings.Join(openings, " "), Voice: "af_bella", Speed: 1}) {
			if err != nil {
				return err
			}
			joins = append(joins, len(samples))
			samples = append(samples, c.Samples...)
		}
		fmt.Fprintf(out, "%s, %d joins: at most %.1f dB more in the high band than 10 ms around\n", s.Name(), len(joins), ttstest.Clicks(samples, s.Rate(), joins))
	}
	return nil
}

func same(x float64) float64 { return x }
