package asr

import (
	"fmt"
	"math"

	"quern/engine/asr/heard"
	"quern/engine/asr/vad"
	"quern/engine/token"
)

// Input and output of a model; package heard explains them.
type (
	Options      = heard.Options
	OptionError  = heard.OptionError
	Info         = heard.Info
	Segment      = heard.Segment
	Word         = heard.Word
	TokenLogprob = heard.TokenLogprob
	Guard        = heard.Guard
)

// languages are the codes of Whisper's languages in the order of their tokens.
var languages = heard.Languages()

// ErrOptions marks options that are not supported.
var ErrOptions = heard.ErrOptions

// The guards of package heard.
const (
	GuardVAD     = heard.GuardVAD
	GuardRatio   = heard.GuardRatio
	GuardLogprob = heard.GuardLogprob
	GuardSilence = heard.GuardSilence
	GuardReset   = heard.GuardReset
	GuardLength  = heard.GuardLength
	GuardRepeats = heard.GuardRepeats
	GuardSignOff = heard.GuardSignOff
	NoGuards     = heard.NoGuards
)

// defaultCandidates is how many draws a window gets above temperature 0.
const defaultCandidates = 5

// resolved returns o with defaults in place, or its error.
func (m *Model) resolved(o Options) (Options, error) {
	if o.Language != "" {
		code := heard.LanguageCode(o.Language)
		if _, ok := m.special.languages[code]; !ok && !(code == "en" && !m.Multilingual()) {
			return o, &OptionError{Name: "language", Message: fmt.Sprintf("the model does not know language %q", o.Language)}
		}
		o.Language = code
	}
	if !m.Multilingual() {
		o.Language = "en"
	}
	if target := heard.LanguageCode(o.Target); o.Target != "" {
		if target != "en" {
			return o, &OptionError{Name: "target_language", Message: "the model translates to English only"}
		}
		o.Translate = true
	}
	if o.NoPunctuation {
		return o, &OptionError{Name: "punctuation", Message: "the model writes punctuation as it was trained to; leave punctuation out"}
	}
	if o.Translate && !m.Translates() {
		return o, fmt.Errorf("%w: the model does not translate", ErrOptions)
	}
	o.NoTimestamps = o.NoTimestamps || m.config.distilled()
	if o.Temperatures == nil {
		o.Temperatures = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}
	}
	if len(o.Temperatures) == 0 || len(o.Temperatures) > 16 {
		return o, fmt.Errorf("%w: %d temperatures", ErrOptions, len(o.Temperatures))
	}
	for _, t := range o.Temperatures {
		if !(t >= 0 && t <= 5) {
			return o, fmt.Errorf("%w: temperature %g", ErrOptions, t)
		}
	}
	for _, x := range []struct {
		v   *float64
		def float64
	}{{&o.MaxRatio, 2.4}, {&o.MinLogprob, -1}, {&o.MaxNoSpeech, 0.6}} {
		if *x.v == 0 {
			*x.v = x.def
		}
		if math.IsNaN(*x.v) {
			return o, fmt.Errorf("%w: a threshold is no number", ErrOptions)
		}
	}
	if o.BestOf == 0 {
		o.BestOf = defaultCandidates
	}
	if o.Words && m.params == nil {
		return o, &OptionError{Name: "words", Message: "times of words need what the decoder attends to, which its ONNX graph does not tell"}
	}
	if o.SkipSilence > 0 && !o.Words {
		return o, fmt.Errorf("%w: skipping silence needs times of words", ErrOptions)
	}
	if o.Detector == nil {
		o.Detector = vad.EnergyDetector{}
	}
	if o.Info == nil {
		o.Info = new(Info)
	}
	var err error
	if o.Speech, err = o.Speech.Resolved(); err != nil {
		return o, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	d := decodingOf(&o, nil)
	return o, d.check()
}

// decodingOf is the part of o that concerns one window.
func decodingOf(o *Options, context []token.ID) decodeOptions {
	d := decodeOptions{
		language: o.Language, translate: o.Translate, stamps: !o.NoTimestamps, context: context, limit: o.MaxTokens,
		bestOf: o.BestOf, beams: o.Beams, patience: o.Patience, lengthPenalty: o.LengthPenalty, seed: o.Seed,
	}
	hot := false
	for _, t := range o.Temperatures {
		hot = hot || t > 0
	}
	if !hot {
		d.bestOf = 1
	}
	return d
}
