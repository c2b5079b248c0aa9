package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/codecs"
	"quern/engine/asr"
	"quern/engine/asr/audio"
	"quern/engine/cpu"
	"quern/engine/tts"
	"quern/engine/tts/formant"
)

// hour transcribes long audio, a WAV stream that is made while it is read, and
// tells how much memory that takes as time goes by.
func hour(ctx context.Context, args []string, out io.Writer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("hour", flag.ContinueOnError)
	model := flags.String("model", "", "Whisper `file`; empty makes a nano one")
	minutes := flags.Int("minutes", 60, "length of the audio")
	threads := flags.Int("threads", 2, "threads")
	tokens := flags.Int("tokens", 24, "most tokens of a window: random weights have no end")
	chunked := flags.Bool("chunked", false, "decode pieces side by side")
	words := flags.Bool("words", false, "with times of words")
	must.Do(flags.Parse(args))
	if *model == "" {
		dir := must.Get(os.MkdirTemp("", "quern-bench-"))
		defer os.RemoveAll(dir)
		*model = filepath.Join(dir, "nano.bin")
		must.Do(generate(*model, shapes[0], "F16", 1, false))
	}
	backend := cpu.Open(*threads)
	defer backend.Close()
	m := must.Get(asr.Open(context.Background(), *model, backend, asr.OpenOptions{}))
	defer m.Close()
	sound := must.Get(codecs.Open(must.Get(newTalk(ctx, *minutes)), codecs.Options{}))
	mono := must.Get(codecs.NewMono(sound, audio.Rate))
	fmt.Fprintf(out, "| audio, min | heap, MB | resident, MB | peak, MB | segments | real time |\n|---:|---:|---:|---:|---:|---:|\n")
	var info asr.Info
	start, segments := time.Now(), 0
	report := func(at float64) {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		now, peak := stat.Resident()
		fmt.Fprintf(out, "| %.0f | %.1f | %.1f | %.1f | %d | %.4f |\n", at/60, float64(s.HeapAlloc)/1e6, now, peak, segments, time.Since(start).Seconds()/at)
	}
	next := 60.0
	for s, err := range m.Transcribe(ctx, mono, asr.Options{
		Language: "en", Temperatures: []float64{0}, MaxTokens: *tokens, Chunked: *chunked, Words: *words, Info: &info,
		Without: asr.NoGuards &^ asr.GuardVAD, // which would drop what random weights say
	}) {
		if err != nil {
			return err
		}
		segments++
		if s.End >= next {
			report(s.End)
			if next += 600; next == 660 {
				next = 600
			}
		}
	}
	report(info.Duration)
	fmt.Fprintf(out, "\n%.1f minutes, %.1f of them taken for speech.\n", info.Duration/60, info.Speech/60)
	return nil
}

// A talk is a WAV file of speech with pauses over noise,
// made while it is read.
type talk struct {
	said    [][]float32 // sentences
	left    int         // samples of the file
	random  *rand.Rand
	pending []float32 // of the sentence at hand
	silence int       // samples before the next
	head    []byte    // of the file
}

var sentences = []string{
	"The quick brown fox jumps over the lazy dog.", "Good morning, everybody, and welcome to the meeting.",
	"In the year nineteen sixty-nine two men walked on the moon.", "Could you please tell me where the station is?",
	"It rained all night, and the river rose by three feet.", "She sells sea shells by the sea shore.",
	"We will look at the numbers of the last quarter first, and then talk about the plans for spring.",
	"Nobody knew what had happened to the old clock in the tower.", "Yes.", "No, I do not think so.",
}

// newTalk prepares so many minutes. What is said does not change from run to run.
func newTalk(ctx context.Context, minutes int) (*talk, error) {
	p, err := tts.NewPronouncer(nil)
	if err != nil {
		return nil, err
	}
	t := &talk{left: minutes * 60 * formant.Rate, random: rand.New(rand.NewPCG(1, 2))}
	voice := tts.Formant().Voices()[0].ID
	for _, text := range sentences {
		var x []float32
		for c, err := range tts.Speak(ctx, tts.Formant(), p, tts.Request{Text: text, Voice: voice, Speed: 1}) {
			if err != nil {
				return nil, err
			}
			x = append(x, c.Samples...)
		}
		t.said = append(t.said, x)
	}
	// Sizes of a file that is still being written are the largest there are.
	const endless = 1<<32 - 1
	put := func(v any) { t.head, _ = binary.Append(t.head, binary.LittleEndian, v) }
	put([]byte("RIFF"))
	put(uint32(endless))
	put([]byte("WAVEfmt "))
	put(uint32(16))
	put([]uint16{1, 1})
	put([]uint32{formant.Rate, 2 * formant.Rate})
	put([]uint16{2, 16})
	put([]byte("data"))
	put(uint32(endless))
	return t, nil
}

// Read implements io.Reader.
func (t *talk) Read(p []byte) (int, error) {
	if n := copy(p, t.head); n > 0 {
		t.head = t.head[n:]
		return n, nil
	}
	if t.left == 0 {
		return 0, io.EOF
	}
	if len(p) < 2 {
		return 0, errors.New("talk: samples have two bytes")
	}
	n := min(len(p)/2, t.left)
	for i := range n {
		v := 0.003 * (t.random.Float32() - 0.5) // hiss at about -60 dB
		switch {
		case len(t.pending) > 0:
			v += t.pending[0]
			t.pending = t.pending[1:]
		case t.silence > 0:
			t.silence--
		default:
			t.pending = t.said[t.random.IntN(len(t.said))]
			t.silence = formant.Rate/4 + t.random.IntN(3*formant.Rate)
		}
		binary.LittleEndian.PutUint16(p[2*i:], uint16(int16(32000*max(-1, min(1, v)))))
	}
	t.left -= n
	return 2 * n, nil
}
