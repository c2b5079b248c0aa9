// Package tts turns text into speech: pronunciation, the split into utterances,
// a synthesiser, and the joins. Two synthesisers exist: Kokoro, a neural network
// whose weights are a file, and a formant synthesiser that needs none.
package tts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"quern/engine/tts/formant"
	"quern/engine/tts/kokoro"
	"quern/formats"
	"quern/formats/weights"
)

// A Synth renders utterances. Its methods are safe for concurrent use.
type Synth interface {
	// Name is the engine's own name: "kokoro", "quern-formant".
	Name() string
	// Rate is the sample rate of everything it makes, in Hz.
	Rate() int
	// Limit is how many symbols an utterance may have.
	Limit() int
	// First is how many an answer's first utterance should have at most, to be heard soon;
	// 0 where any is.
	First() int
	// Voices lists its speakers.
	Voices() []Voice
	// Bytes is about how much memory it occupies.
	Bytes() int64
	// Speak renders phonemes, one symbol a code point, in a voice or mixture. It
	// returns mono samples and how many of them belong to the lead-in, each
	// symbol, and the lead-out. Equal arguments give equal samples.
	Speak(ctx context.Context, symbols []rune, voice string, speed float64, seed uint64) (samples []float32, spans []int, err error)
	// Floor adds the noise of the room, where the engine does not make it itself, to
	// the samples of an answer that begin at sample at. A sample's noise depends on
	// seed and its place alone.
	Floor(samples []float32, at int, seed uint64)
}

// Formant returns the built-in synthesiser.
func Formant() Synth { return formantSynth{} }

// A formantSynth speaks so many semitones higher than its voices.
type formantSynth struct{ pitch float64 }

func (formantSynth) Name() string { return "quern-formant" }
func (formantSynth) Rate() int    { return formant.Rate }
func (formantSynth) Limit() int   { return 400 }
func (formantSynth) First() int   { return 0 }
func (formantSynth) Bytes() int64 { return 0 }

func (formantSynth) Voices() []Voice {
	out := make([]Voice, len(formant.Voices))
	for i, v := range formant.Voices {
		out[i] = describe(v.ID)
		out[i].Name, out[i].Description = v.Name, v.Description
	}
	return out
}

func (s formantSynth) Speak(ctx context.Context, symbols []rune, voice string, speed float64, seed uint64) ([]float32, []int, error) {
	shares, err := resolve(voice, s.Voices())
	if err != nil {
		return nil, nil, err
	}
	var voices []*formant.Voice
	var weight []float64
	for _, sh := range shares {
		v, _ := formant.Find(sh.id)
		voices, weight = append(voices, v), append(weight, sh.weight)
	}
	v := voices[0]
	if len(voices) > 1 {
		v = formant.Mix(voices, weight)
	}
	if s.pitch != 0 {
		higher := *v
		higher.Pitch *= math.Exp2(s.pitch / 12)
		v = &higher
	}
	return v.Speak(ctx, symbols, speed, seed)
}

func (formantSynth) Floor(samples []float32, at int, seed uint64) { formant.Floor(samples, at, seed) }

// Speaks reports whether a language is English, whose sounds the synthesiser has.
func (formantSynth) Speaks(language string) bool { return strings.HasPrefix(language, "en-") }

// Pitched returns the synthesiser, so many semitones higher.
func (s formantSynth) Pitched(semitones float64) Synth { return formantSynth{s.pitch + semitones} }

// resolve reads a voice or mixture of the given voices and the names that stand
// for them.
func resolve(voice string, voices []Voice) ([]share, error) {
	ids := make(map[string]string, 2*len(voices))
	for _, s := range Stands(voices) {
		ids[s.Name] = s.Voice
	}
	for _, v := range voices {
		ids[v.ID] = v.ID
	}
	return parseVoice(voice, func(name string) (string, bool) {
		id, ok := ids[name]
		return id, ok
	})
}

// Check reports whether a voice or mixture can be made of voices: nil, or a
// *VoiceError.
func Check(voices []Voice, voice string) error {
	_, err := resolve(voice, voices)
	return err
}

// First returns the description of the voice that leads a mixture of voices, which
// decides the pronunciation, or a *VoiceError.
func First(voices []Voice, voice string) (Voice, error) {
	shares, err := resolve(voice, voices)
	if err != nil {
		return Voice{}, err
	}
	for _, v := range voices {
		if v.ID == shares[0].id {
			return v, nil
		}
	}
	return Voice{}, &VoiceError{voice, ""}
}

type kokoroSynth struct {
	model *kokoro.Model
	packs *packs
	pitch float64 // semitones higher than its voices
}

// OpenKokoro opens a Kokoro model: its file (.pth or .safetensors), or the
// directory that holds it. config.json and the voices lie beside it.
//
// Errors wrap weights.ErrFormat or weights.ErrUnsupported.
func OpenKokoro(path string, pool kokoro.Pool) (Synth, error) {
	file, err := findKokoro(path)
	if err != nil {
		return nil, err
	}
	set, err := formats.Open(file)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	dir := filepath.Dir(file)
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	m, err := kokoro.New(set, config, pool)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p, err := openPacks(dir, m.Style())
	if err != nil {
		return nil, err
	}
	return &kokoroSynth{model: m, packs: p}, nil
}

// IsKokoro reports whether path is a Kokoro model or a directory with one.
func IsKokoro(path string) bool {
	_, err := findKokoro(path)
	return err == nil
}

// findKokoro returns the file of weights.
func findKokoro(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	candidates := []string{path}
	if st.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return "", err
		}
		candidates = nil
		for _, ending := range []string{".safetensors", ".pth", ".pt"} {
			for _, e := range entries {
				if !e.IsDir() && strings.HasSuffix(e.Name(), ending) {
					candidates = append(candidates, filepath.Join(path, e.Name()))
				}
			}
		}
	}
	for _, c := range candidates {
		set, err := formats.Open(c)
		if err != nil {
			continue
		}
		_, ok := set.Tensor(kokoro.Signature)
		set.Close()
		if ok {
			return c, nil
		}
	}
	return "", fmt.Errorf("%w: %s holds no Kokoro model (.pth or .safetensors)", weights.ErrFormat, path)
}

func (s *kokoroSynth) Name() string { return "kokoro" }
func (s *kokoroSynth) Rate() int    { return kokoro.Rate }
func (s *kokoroSynth) Bytes() int64 { return s.model.Bytes() }

// Limit is below what the network reads: long utterances are rushed.
func (s *kokoroSynth) Limit() int { return 400 }

// First is some two seconds, which two threads of 2021 make in a third of one.
func (s *kokoroSynth) First() int { return 32 }

func (s *kokoroSynth) Voices() []Voice { return s.packs.voices() }

// Floor adds nothing: the network has learned from recordings, which have one.
func (s *kokoroSynth) Floor([]float32, int, uint64) {}

// KokoroVoices lists the voices beside a model without opening it.
func KokoroVoices(path string) ([]Voice, error) {
	file, err := findKokoro(path)
	if err != nil {
		return nil, err
	}
	p, err := openPacks(filepath.Dir(file), 0)
	if err != nil {
		return nil, err
	}
	return p.voices(), nil
}

func (s *kokoroSynth) Speak(ctx context.Context, symbols []rune, voice string, speed float64, seed uint64) ([]float32, []int, error) {
	shares, err := resolve(voice, s.Voices())
	if err != nil {
		return nil, nil, err
	}
	var voices []*kokoro.Voice
	var weight []float64
	for _, sh := range shares {
		v, err := s.packs.voice(sh.id)
		if err != nil {
			return nil, nil, err
		}
		voices, weight = append(voices, v), append(weight, sh.weight)
	}
	v := voices[0]
	if len(voices) > 1 {
		if v, err = kokoro.Mix(voices, weight); err != nil {
			return nil, nil, err
		}
	}
	return s.model.Speak(ctx, symbols, v.Style(len(symbols)), kokoro.Manner{Speed: speed, Pitch: s.pitch, Seed: seed})
}

// Pitched returns the synthesiser, so many semitones higher.
func (s *kokoroSynth) Pitched(semitones float64) Synth {
	higher := *s
	higher.pitch += semitones
	return &higher
}
