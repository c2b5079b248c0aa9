package engine

import (
	"context"
	"time"

	"quern/engine/asr/audio"
	"quern/engine/asr/heard"
	"quern/engine/asr/speakers"
	"quern/engine/asr/vad"
	"quern/engine/tts"
)

// A Voice is a speaker clients can ask for.
type Voice struct {
	tts.Voice
	Model   string // its model's id
	AliasOf string // the voice or mixture this name stands for, or ""
	Opaque  bool   // an alias that is a meaningless id, left out of lists
}

// VoiceName is the id of the voice that needs no model file.
const VoiceName = "quern-formant"

// A SpeakRequest is a text to be spoken.
type SpeakRequest struct {
	Text     string
	Voice    string  // a voice, a name that stands for one, or a mixture "af_bella(2)+af_sky"
	Speed    float64 // 0.25 to 4; 0 means 1
	Seed     uint64  // equal requests sound equal
	Language string  // one of Languages; "" is the voice's own
	SSML     bool    // Text is SSML; see IsSSML
	Lexicon  *Lexicon

	// More, where there is one, returns text that follows Text while that is spoken; see
	// tts.Request.
	More func(context.Context) (More, error)

	KeepAlive *time.Duration // as in GenerateRequest
}

// More is the next part of a text, and how soon it is to be spoken.
type (
	More  = tts.More
	Haste = tts.Haste
)

// How soon a text is spoken that has come so far; see package tts.
const (
	Patient   = tts.Patient
	Sentences = tts.Sentences
	Clauses   = tts.Clauses
	Flush     = tts.Flush
)

// A PhonemizeRequest is a text whose pronunciation is asked for.
type PhonemizeRequest struct {
	Text     string
	Language string // one of Languages; "" is en-us
	SSML     bool
	Lexicon  *Lexicon
}

// Languages lists the codes of the languages that texts can be read in.
func Languages() []string { return tts.Languages() }

// LanguageOf returns the code of a language's tag, "es" of "es-MX", and whether texts can
// be read in it.
func LanguageOf(tag string) (string, bool) { return tts.LanguageOf(tag) }

// SpokenName is the English name of a language, "" if texts cannot be read in it.
func SpokenName(tag string) string { return tts.LanguageName(tag) }

// A Lexicon is how a user wants words to be said.
type Lexicon = tts.Lexicon

// ParseLexicon reads one: PLS, JSON or lines; see tts.ParseLexicon.
func ParseLexicon(text string) (*Lexicon, error) { return tts.ParseLexicon([]byte(text)) }

// OpenLexicon reads one from a file.
func OpenLexicon(file string) (*Lexicon, error) { return tts.OpenLexicon(file) }

// IsSSML reports whether a text is a document of SSML.
func IsSSML(text string) bool { return tts.IsSSML(text) }

// A Speech is a piece of the answer.
type Speech struct {
	tts.Chunk
	Rate int // Hz
}

// A Pronunciation is one word or mark of a text as it will be said.
type Pronunciation struct {
	Text       string
	Start, End int // bytes of the text
	Phonemes   string
	Space      bool   // a space follows
	Source     string // where the phonemes of a word come from
}

// Input and output of transcriptions; package heard explains the fields.
type (
	// A Source delivers 16 kHz mono samples: Read returns how many, then io.EOF.
	Source = audio.Source
	// A Segment is a piece of transcript.
	Segment = heard.Segment
	// A Word is a word of a segment.
	Word = heard.Word
	// TranscribeOptions say how; a nil Detector is the model's.
	TranscribeOptions = heard.Options
	// TranscribeInfo describes the audio as a whole.
	TranscribeInfo = heard.Info
	// A Detector tells speech from other sound.
	Detector = vad.Detector
	// A Listener reads one stream of sound for a Detector.
	Listener = vad.Listener
	// SpeechOptions say what counts as speech.
	SpeechOptions = vad.Options
	// SpeakerOptions are the known facts about the speakers.
	SpeakerOptions = speakers.Options
	// A KnownVoice is that of a person who is known by name.
	KnownVoice = speakers.Voice
	// Speakers is who spoke when; its Label gives segments and words their speakers.
	Speakers = speakers.Result
	// A Guard is a measure against text that was not spoken.
	Guard = heard.Guard
)

// The sound that recognisers and detectors read is mono.
const (
	HearingRate = audio.Rate // Hz
	Hop         = vad.Hop    // samples a Listener reads at a time
)

// MaxBeams bounds TranscribeOptions.Beams and BestOf.
const MaxBeams = heard.MaxCandidates

// GuardNames are the names of guards; "all" is all of them.
func GuardNames() []string { return heard.GuardNames() }

// GuardNamed returns the guard of a name.
func GuardNamed(name string) (Guard, bool) { return heard.GuardNamed(name) }

// LanguageName returns the English name of a language given by its code or its
// name, or "" for what is neither.
func LanguageName(s string) string { return heard.LanguageName(heard.LanguageCode(s)) }

// Bounds of voices that are known by name, as OpenAI has them.
const (
	MaxKnownVoices = 4
	LeastVoice     = 2 * time.Second
	MostVoice      = 10 * time.Second
)

// CapabilityDiarize is of recognisers with diarization.
const CapabilityDiarize = "diarization"

// A Diarization asks a model with CapabilityDiarize for the speakers.
type Diarization struct {
	SpeakerOptions
	Speakers Speakers // filled in after the last segment
}

// A TranscribeRequest is audio to be written down.
type TranscribeRequest struct {
	Source Source
	TranscribeOptions

	Temperature *float64 // above 0: the first of the ladder, in place of Temperatures
	AllSound    bool     // also sound that no detector takes for speech
	MayWords    bool     // Words, of models that time them
	Diarize     *Diarization
	KeepAlive   *time.Duration
}
