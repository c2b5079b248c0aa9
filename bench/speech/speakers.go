package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"quern/bench/internal/must"
	"quern/bench/internal/sound"
	"quern/codecs"
	"quern/engine/tts"
)

// A speaker says a text, mono at 16 kHz.
type speaker struct {
	name, group string
	say         func(ctx context.Context, text string) ([]float32, error)
}

const (
	american = "American"
	british  = "British"
	others   = "others"
)

// ours returns the built-in voices.
func ours() (out []speaker, err error) {
	p, err := tts.NewPronouncer(nil)
	if err != nil {
		return nil, err
	}
	synth := tts.Formant()
	for _, v := range synth.Voices() {
		group := american
		if v.Language == "en-gb" {
			group = british
		}
		out = append(out, speaker{v.ID, group, func(ctx context.Context, text string) ([]float32, error) {
			var all []float32
			for c, err := range tts.Speak(ctx, synth, p, tts.Request{Text: text, Voice: v.ID, Speed: 1}) {
				if err != nil {
					return nil, err
				}
				all = append(all, c.Samples...)
			}
			return sound.Resample(all, synth.Rate(), hearingRate)
		}})
	}
	return out, nil
}

// floor is the level of the noise that some of the others get, as a share of full
// scale: -72 dBFS, which cannot be heard and is what our voices have.
const floor = 2.5e-4

// theirs returns the synthesisers of Debian, each as it is and with a floor.
func theirs() (out []speaker) {
	for _, t := range []struct {
		name    string
		command []string
	}{
		{"flite slt", []string{"flite", "-voice", "slt", "-o", "FILE", "-t"}},
		{"flite rms", []string{"flite", "-voice", "rms", "-o", "FILE", "-t"}},
		{"espeak-ng en-us", []string{"espeak-ng", "-v", "en-us", "-w", "FILE"}},
	} {
		say := func(ctx context.Context, text string) (x []float32, err error) {
			defer must.Catch(&err)
			dir := must.Get(os.MkdirTemp("", "say"))
			defer os.RemoveAll(dir)
			file := filepath.Join(dir, "said.wav")
			args := append(slices.Clone(t.command[1:]), text)
			args[slices.Index(args, "FILE")] = file
			if b, err := exec.CommandContext(ctx, t.command[0], args...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s: %w: %s", t.command[0], err, b)
			}
			f := must.Get(os.Open(file))
			defer f.Close()
			return sound.Mono(must.Get(codecs.Open(f, codecs.Options{})), hearingRate)
		}
		out = append(out, speaker{t.name, others, say},
			speaker{t.name + " with our floor", others, func(ctx context.Context, text string) ([]float32, error) {
				x, err := say(ctx, text)
				noise := rand.New(rand.NewPCG(1, 2))
				for i := range x {
					x[i] += float32(floor * math.Sqrt(12) * (noise.Float64() - 0.5))
				}
				return x, err
			}})
	}
	return out
}
