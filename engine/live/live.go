// Package live transcribes live sound, with any recogniser. Text is yielded
// when it no longer changes.
//
// Sound is cut in pauses into pieces, which bounds memory and repeated work (cut.go). A
// piece under way is transcribed again whenever Options.Step of it is new. What two such hypotheses in a
// row agree on is settled (settle.go), and so is all that is left when the piece ends.
//
// Macháček, Dabre and Bojar, "Turning Whisper into Real-Time Transcription System", 2023,
// has local agreement, there with cuts where sentences end.
package live

import (
	"context"
	"errors"
	"io"
	"iter"

	"quern/engine"
	"quern/engine/asr/audio"
	"quern/engine/asr/vad"
)

// A Recogniser transcribes sound as an engine.Lease does.
type Recogniser interface {
	Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error]
}

// Options say how. The zero value works.
type Options struct {
	// Request is the recogniser's request. Its Source is set by this package. Info is
	// filled in, as by the recogniser.
	Request engine.TranscribeRequest
	// Detector finds pauses; nil is by energy.
	Detector engine.Detector
	// Step is how many seconds of sound are new before a piece under way is transcribed
	// again; 0 means 1. With Whole pieces are transcribed when they end, and not before.
	Step  float64
	Whole bool
	// Cost, when not nil, counts the work done.
	Cost *Cost
}

// Cost is the work of a transcription.
type Cost struct {
	Runs    int     // of the recogniser
	Seconds float64 // of sound in them
	Pieces  int
}

// An Update is the new text since the one before.
type Update struct {
	// Segment is the text that is settled; of all updates in a row, its texts are the transcript. It
	// may be empty. Times are those of the sound.
	engine.Segment
	// Tail follows it for now, and may change.
	Tail string
	// Final says that a piece ended: Tail is empty.
	Final bool
	// Heard is the seconds of sound that were transcribed.
	Heard float64
}

const (
	defaultStep = 1.0
	// listenSamples is how much sound the detector is given at least: a piece ends with a pause,
	// however much new sound a transcription of one under way waits for.
	listenSamples = engine.Hop * 2
	// longest is the most seconds of a piece: a window of Whisper holds it.
	longest = 24.0
)

// Transcribe transcribes the sound of a feed, until that is closed. It holds one piece
// beside the feed's samples. Breaking out of the loop or ending ctx stops it as it stops the
// recogniser.
func Transcribe(ctx context.Context, rec Recogniser, f *Feed, o Options) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		t := newTranscription(rec, o)
		for {
			x, end := f.read(ctx, listenSamples)
			if end != nil && ctx.Err() != nil {
				yield(Update{}, ctx.Err())
				return
			}
			if err := t.take(ctx, x, end != nil, func(u Update) bool { return yield(u, nil) }); err != nil {
				if err != errStopped {
					yield(Update{}, err)
				}
				return
			}
			if end != nil {
				if end != io.EOF {
					yield(Update{}, end)
				}
				return
			}
		}
	}
}

// errStopped: the caller has stopped reading.
var errStopped = errors.New("live: stopped")

// A transcription is one under way.
type transcription struct {
	rec     Recogniser
	o       Options
	cut     cutter
	step    int // samples
	settled settled
	done    int // samples of the piece that were transcribed, or skipped
	first   bool
	count   int // segments so far
}

func newTranscription(rec Recogniser, o Options) *transcription {
	if o.Detector == nil {
		o.Detector = vad.EnergyDetector{}
	}
	if o.Request.AllSound {
		o.Detector = vad.Everything{}
	}
	if o.Step <= 0 {
		o.Step = defaultStep
	}
	if o.Request.Info == nil {
		o.Request.Info = new(engine.TranscribeInfo)
	}
	if o.Cost == nil {
		o.Cost = new(Cost)
	}
	*o.Request.Info = engine.TranscribeInfo{Language: o.Request.Language}
	t := &transcription{rec: rec, o: o, step: int(o.Step * engine.HearingRate), first: true}
	threshold := o.Request.Speech.Threshold
	if threshold <= 0 || threshold >= 1 {
		threshold = 0.5
	}
	t.cut = cutter{ear: o.Detector.Listen(), threshold: threshold, release: max(threshold-0.15, 0.01), pause: pauses[len(pauses)-1].silence, longest: longest * engine.HearingRate}
	return t
}

// heard is the seconds of sound that were taken.
func (t *transcription) heard() float64 {
	return float64(t.cut.start+len(t.cut.audio)) / engine.HearingRate
}

// take reads sound and yields the text that it adds.
func (t *transcription) take(ctx context.Context, x []float32, last bool, yield func(Update) bool) error {
	for len(x) > 0 {
		var ended bool
		if x, ended = t.cut.add(x); !ended {
			break
		}
		if err := t.finish(ctx, yield); err != nil {
			return err
		}
	}
	t.o.Request.Info.Duration = t.heard()
	switch {
	case last && t.cut.speaking && (t.cut.loud >= leastHops || t.settled.any()):
		return t.finish(ctx, yield)
	case !t.cut.speaking:
		t.done = 0
	case !last && !t.o.Whole && len(t.cut.audio)-t.done >= t.step && t.cut.fresh >= leastHops:
		return t.guess(ctx, yield)
	}
	return nil
}

// guess transcribes the piece under way, and settles text of it.
func (t *transcription) guess(ctx context.Context, yield func(Update) bool) error {
	at := t.cut.start
	t.done, t.cut.fresh = len(t.cut.audio), 0
	units, err := t.write(ctx, append([]float32(nil), t.cut.audio...), at, false)
	if known, ok := errors.AsType[*engine.Error](err); ok && known.Code == engine.CodeQueueFull {
		return nil // the next is as good
	}
	if err != nil {
		return err
	}
	now, tail := t.settled.agree(units)
	return t.send(Update{Segment: t.segment(now), Tail: tail}, yield)
}

// finish transcribes the piece that has ended, and settles all of its text.
func (t *transcription) finish(ctx context.Context, yield func(Update) bool) error {
	heard := t.heard()
	audio, at := t.cut.piece()
	through := t.cut.speaking
	t.done = 0
	units, err := t.write(ctx, audio, at, true)
	if err != nil {
		return err
	}
	t.o.Cost.Pieces++
	now := t.settled.finish(units, through)
	return t.send(Update{Segment: t.segment(now), Final: true, Heard: heard}, yield)
}

func (t *transcription) send(u Update, yield func(Update) bool) error {
	if u.Heard == 0 {
		u.Heard = t.heard()
	}
	if !yield(u) {
		return errStopped
	}
	return nil
}

// sure is the probability from which a detected language is kept for all the sound, and
// sureSeconds the length of the piece that it needs.
const (
	sure        = 0.8
	sureSeconds = 2.0
)

// write transcribes sound that begins at a sample.
func (t *transcription) write(ctx context.Context, x []float32, at int, final bool) ([]unit, error) {
	r, info := t.o.Request, engine.TranscribeInfo{}
	source := audio.Samples(x)
	r.Source, r.Info = &source, &info
	if !final && r.Temperatures == nil && r.Temperature == nil {
		r.Temperatures = []float64{0} // no retries at other temperatures for a guess
	}
	t.o.Cost.Runs++
	t.o.Cost.Seconds += float64(len(x)) / engine.HearingRate
	var list []unit
	from := float64(at) / engine.HearingRate
	for s, err := range t.rec.Transcribe(ctx, r) {
		if err != nil {
			return nil, err
		}
		list = append(list, units(s, from)...)
	}
	if all := t.o.Request.Info; final && info.Language != "" {
		all.Speech += info.Speech
		if t.o.Request.Language == "" {
			all.Language, all.Probability = info.Language, info.Probability
			if info.Probability >= sure && float64(len(x)) >= sureSeconds*engine.HearingRate {
				t.o.Request.Language = info.Language
			}
		} else if all.Probability == 0 {
			all.Probability = info.Probability
		}
	}
	return list, nil
}

// segment puts units together.
func (t *transcription) segment(list []unit) engine.Segment {
	s := join(list)
	if s.Text == "" {
		return s
	}
	s.ID = t.count
	t.count++
	s.Language = t.o.Request.Info.Language
	if t.first {
		s.Text, t.first = trimmed(s.Text), false
	}
	return s
}
