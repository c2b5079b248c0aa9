package realtime

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"time"

	"quern/codecs/pcm"
	"quern/codecs/resample"
	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/fault"
)

// An ear is the input buffer of a session, and what finds turns in it. Its sound is mono
// at engine.HearingRate; times count all sound of the session.
type ear struct {
	format   *format
	conv     *resample.Resampler
	audio    []float32
	start    int // sample number of audio[0]
	heard    int // samples the detector has had
	detector engine.Detector
	model    string       // the recogniser the detector is of
	turns    *audio.Turns // nil while the client ends turns
	set      *turnDetection
	item     string // id of the item the turn becomes; "" before it begins
}

// end is the sample number after the last.
func (e *ear) end() int { return e.start + len(e.audio) }

func milliseconds(samples int) int { return samples * 1000 / engine.HearingRate }
func samplesIn(ms int) int         { return ms * engine.HearingRate / 1000 }

// samplesOf is how many samples a time has.
func samplesOf(d time.Duration) int { return int(d.Seconds() * engine.HearingRate) }

// decodeSound is the bytes of sound in base64, a whole number of samples.
func decodeSound(text string, f *format, param string) ([]byte, *fault.Error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fault.New(engine.CodeInvalidValue, param, "%s is not base64: %v", param, err)
	}
	if size := f.samples.Size(); len(b)%size != 0 {
		return nil, fault.New(engine.CodeInvalidValue, param, "%s has %d bytes, and samples of %s have %d each", param, len(b), f.name, size)
	}
	return b, nil
}

// hearable is sound of a format as recognisers want it.
func hearable(b []byte, f *format) []float32 {
	conv := converter(f)
	out := convert(nil, conv, b, f)
	return conv.Flush(out)
}

func converter(f *format) *resample.Resampler {
	conv, err := resample.New(f.rate, engine.HearingRate, 1)
	if err != nil {
		panic(err) // the rates are ours
	}
	return conv
}

// convertBytes is how much sound is converted at a time: a multiple of every sample.
const convertBytes = 8 << 10

// convert appends sound to dst, a piece at a time.
func convert(dst []float32, conv *resample.Resampler, b []byte, f *format) []float32 {
	var x []float32
	for len(b) > 0 {
		n := min(len(b), convertBytes)
		x = pcm.Decode(x[:0], b[:n], f.samples, binary.LittleEndian)
		dst = conv.Process(dst, x)
		b = b[n:]
	}
	return dst
}

// samples are a Source.
type samples []float32

func (s *samples) Read(dst []float32) (int, error) {
	if len(*s) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, *s)
	*s = (*s)[n:]
	return n, nil
}

// take removes the sound from sample from on, and forgets what is before.
func (e *ear) take(from int) []float32 {
	sound := append([]float32(nil), e.audio[max(from-e.start, 0):]...)
	e.forget(e.end())
	return sound
}

// settle puts what the converter holds back for the sound that follows, some milliseconds,
// into the buffer: nothing follows.
func (e *ear) settle() {
	if e.conv == nil {
		return
	}
	e.audio = e.conv.Flush(e.audio)
	e.conv = converter(e.format)
}

// forget drops sound before a sample.
func (e *ear) forget(before int) {
	if n := min(before-e.start, len(e.audio)); n > 0 {
		e.audio = append(e.audio[:0], e.audio[n:]...)
		e.start += n
	}
}

// listen makes the ear one for a configuration.
func (e *ear) listen(c *config, d engine.Detector) {
	if e.format != c.in {
		e.settle()
		e.format, e.conv = c.in, converter(c.in)
	}
	switch changed := e.set != c.turns || e.detector != d; {
	case !changed:
	case c.turns == nil:
		e.turns = nil
	default:
		e.turns, e.heard = audio.NewTurns(d, c.turns.Threshold, audio.LoudHops, c.turns.Silence), e.end()
	}
	e.set, e.detector, e.model = c.turns, d, c.ear.model
}
