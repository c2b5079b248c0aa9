// Package heard has the types of recognisers' input and output:
// options, segments with their words, guards and languages. It imports no model, so that
// packages which only pass these on link none.
package heard

import (
	"errors"
	"math"

	"quern/engine/asr/audio"
	"quern/engine/asr/vad"
	"quern/engine/token"
)

// ErrOptions marks options that are not supported.
var ErrOptions = errors.New("bad transcription options")

// An OptionError is an option that a model does not have, by its name in requests. It
// wraps ErrOptions.
type OptionError struct{ Name, Message string }

func (e *OptionError) Error() string { return e.Message }

// Unwrap returns ErrOptions.
func (e *OptionError) Unwrap() error { return ErrOptions }

// MaxCandidates is how many beams or tries a window may have.
const MaxCandidates = 10

// A Guard is one of the measures against text that was not spoken.
type Guard uint

// The guards. All are on unless Options.Without names them.
const (
	// GuardVAD lets only speech reach the model.
	GuardVAD Guard = 1 << iota
	// GuardRatio decodes a window again, at a higher temperature, whose text
	// compresses too well.
	GuardRatio
	// GuardLogprob decodes a window again whose tokens are too unlikely.
	GuardLogprob
	// GuardSilence drops windows the model itself takes for silence.
	GuardSilence
	// GuardReset forgets the text before a window decoded at a temperature
	// above 0.5, which may be wrong and would be continued.
	GuardReset
	// GuardLength stops a window that says more than a speaker can, and moves
	// times beyond the audio to its end.
	GuardLength
	// GuardRepeats drops segments of one repeated token and cuts repetitions
	// of a phrase to one.
	GuardRepeats
	// GuardSignOff drops phrases that close videos where the model finds little
	// speech or the audio is quiet: it learnt them from subtitles over silence.
	GuardSignOff
)

// NoGuards is all of them.
const NoGuards = 1<<8 - 1

// guards are their names in requests.
var guards = []struct {
	name string
	is   Guard
}{
	{"vad", GuardVAD}, {"ratio", GuardRatio}, {"logprob", GuardLogprob}, {"silence", GuardSilence},
	{"reset", GuardReset}, {"length", GuardLength}, {"repeats", GuardRepeats}, {"sign_off", GuardSignOff},
	{"all", NoGuards},
}

// GuardNames returns the names that GuardNamed takes.
func GuardNames() []string {
	list := make([]string, len(guards))
	for i, g := range guards {
		list[i] = g.name
	}
	return list
}

// GuardNamed returns the guard of a name, or all of them for "all".
func GuardNamed(name string) (Guard, bool) {
	for _, g := range guards {
		if g.name == name {
			return g.is, true
		}
	}
	return 0, false
}

// Options say how audio is transcribed. The zero value detects the language and
// transcribes with times, as the reference does by default.
type Options struct {
	Language  string // code or English name; "" is found out from the first window
	Translate bool   // to English
	Target    string // code or name of the language to translate to; "" is Translate's, or the spoken one
	// NoPunctuation leaves out punctuation and capitals, where the model can.
	NoPunctuation bool

	Prompt   string   // text before the audio, for names and style
	Keywords []string // words that may occur; they join the prompt of every window
	Prefix   string   // the first window's transcript begins with it

	NoTimestamps bool // one segment a window
	Words        bool // times of words
	Logprobs     bool // log-probabilities of tokens

	// Temperatures are tried in turn until guards are content; nil means 0, 0.2
	// and so on to 1.
	Temperatures  []float64
	BestOf        int     // draws above temperature 0, at most 10; 0 means 5
	Beams         int     // at temperature 0, at most 10; 0 and 1 are greedy
	Patience      float64 // of beam search; 0 means 1
	LengthPenalty float64 // exponent; 0 ranks by the mean
	Seed          uint64

	// NoContext starts every window without the text before it.
	NoContext bool
	// Chunked decodes pieces of up to 30 s, cut in pauses, for
	// themselves and several at a time: faster, and a little different.
	Chunked bool
	// Pauses has models without times of words within a window cut windows at every
	// pause that is a second after the last, so that a segment has one speaker more often.
	Pauses bool

	// Detector tells speech from other sound; nil is EnergyDetector.
	Detector vad.Detector
	// Speech is how its answers become stretches of speech.
	Speech vad.Options

	Without Guard
	// The thresholds of the guards of the same names; 0 means 2.4, -1 and 0.6.
	MaxRatio, MinLogprob, MaxNoSpeech float64
	// MaxTokens bounds a window's tokens; 0 is half the decoder's places.
	MaxTokens int
	// SkipSilence, above 0, looks for words that stand alone in that many
	// seconds of silence and drops what looks made up. It needs Words.
	SkipSilence float64

	// Info, when not nil, is filled in while segments come.
	Info *Info
}

// Info describes the audio as a whole.
type Info struct {
	Language    string  // code; known before the first segment
	Probability float64 // of a language that was found out; else 1
	Duration    float64 // seconds of audio; complete when the segments are
	Speech      float64 // seconds of it that went to the model
}

// A Segment is a piece of transcript. Times are seconds of the audio.
type Segment struct {
	ID         int
	Seek       int // where its window began, in hundredths of a second
	Start, End float64
	Text       string
	Tokens     []token.ID // with times

	Temperature      float64
	AvgLogprob       float64
	CompressionRatio float64
	NoSpeechProb     float64

	Words    []Word         // with Options.Words
	Logprobs []TokenLogprob // with Options.Logprobs, of the text's tokens
	Language string         // code
	Speaker  int            // number of the speaker, from 1; 0 is unknown
	Overlap  bool           // others speak meanwhile, for half of it at least
	// Repaired says that GuardRepeats cut the text.
	Repaired bool
}

// Placed returns s with times of the source: at is the sample its clip begins at in
// what a Gate sent, pieces is where that came from. It writes to the words of s.
func (s Segment) Placed(at int, pieces []vad.Piece) Segment {
	move := func(seconds float64, end bool) float64 {
		n := at + int(math.Round(seconds*audio.Rate))
		if len(pieces) > 0 {
			n = vad.SourceSample(pieces, n, end)
		}
		return math.Round(float64(n)/audio.Rate*100) / 100
	}
	s.Seek = int(math.Round(move(float64(s.Seek)/audio.FrameRate, false) * audio.FrameRate))
	s.Start, s.End = move(s.Start, false), move(s.End, true)
	s.End = max(s.Start, s.End)
	for i := range s.Words {
		w := &s.Words[i]
		w.Start, w.End = move(w.Start, false), move(w.End, true)
		w.End = max(w.Start, w.End)
	}
	return s
}

// A Word is a word with its times, punctuation included.
type Word struct {
	Text        string // with the space before it
	Start, End  float64
	Probability float64
	Speaker     int        // as of Segment
	Overlap     bool       // as of Segment
	Tokens      []token.ID // with which a model wrote it; nil where that is unknown
}

// Cut returns the parts of s before word k and from it on, where 0 < k < len(s.Words).
// Tokens are divided where words have theirs, and else stay with the first part.
func (s Segment) Cut(k int) (before, after Segment) {
	before, after = s, s
	before.Words, after.Words = s.Words[:k:k], s.Words[k:]
	before.Text, after.Text, after.Tokens, after.Logprobs = "", "", nil, nil
	var tokens []token.ID
	for _, w := range before.Words {
		before.Text += w.Text
		tokens = append(tokens, w.Tokens...)
	}
	for _, w := range after.Words {
		after.Text += w.Text
		after.Tokens = append(after.Tokens, w.Tokens...)
	}
	if len(after.Tokens) > 0 {
		before.Tokens = tokens
	}
	before.End = before.Words[k-1].End
	after.Start = max(before.End, after.Words[0].Start)
	after.End = max(after.Start, s.End)
	return before, after
}

// A TokenLogprob is a token of a text with its log-probability.
type TokenLogprob struct {
	ID      token.ID
	Bytes   []byte
	Logprob float32
}

// On reports whether guard g is on.
func (o *Options) On(g Guard) bool { return o.Without&g == 0 }
