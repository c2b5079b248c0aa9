package codecs

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"quern/codecs/internal/fault"
)

// A Stream is the Decoder that Open returns. It keeps to the limits, turns what
// a decoder says into an *Error, and gives silence for what is no number.
type Stream struct {
	format *format
	dec    Decoder
	src    *source
	limit  Options
	frames int64
	err    error
}

// Format returns the container and, where it can hold several, the codec:
// "wav", "flac", "mp3", "aac", "ogg/opus", "webm/vorbis", "mp4/alac".
func (s *Stream) Format() string {
	if c, ok := s.dec.(interface{ Codec() string }); ok {
		return s.format.name + "/" + strings.ToLower(c.Codec())
	}
	return s.format.name
}

// Rate returns the sampling rate in Hz.
func (s *Stream) Rate() int { return s.dec.Rate() }

// Channels returns the number of channels.
func (s *Stream) Channels() int { return s.dec.Channels() }

// Duration returns the length that the headers claim, 0 when they do not.
func (s *Stream) Duration() time.Duration {
	switch d := s.dec.(type) {
	case interface{ Duration() time.Duration }:
		return d.Duration()
	case interface{ Frames() int64 }:
		seconds := float64(d.Frames()) / float64(s.dec.Rate())
		return time.Duration(min(max(seconds, 0), 1e9) * float64(time.Second))
	}
	return 0
}

// cutSlack is what a whole file's audio may fall short of what its headers claim:
// containers count in milliseconds and know of padding their codecs drop.
const cutSlack = 50 * time.Millisecond

// Cut tells, when Read has come to the end, whether the input ended before its
// audio did: how much was read, and how much the headers claim, 0 when they do not.
func (s *Stream) Cut() (read, claimed time.Duration, cut bool) {
	claimed = s.Duration()
	read = time.Duration(float64(s.frames) / float64(max(s.Rate(), 1)) * float64(time.Second))
	if d, ok := s.dec.(interface{ Cut() bool }); ok && d.Cut() {
		return read, claimed, true
	}
	return read, claimed, claimed > read+cutSlack
}

// Missing says in words, when Read has come to the end, what of the sound could not be
// read, "" where nothing is missing.
func (s *Stream) Missing() string {
	var told []string
	read, claimed, cut := s.Cut()
	if cut {
		// In seconds with a digit, so that half a second is not 0s.
		short := fmt.Sprintf("the audio is cut short: %.1f s could be read", read.Seconds())
		if claimed > 0 {
			short += fmt.Sprintf(" of %.1f s", claimed.Seconds())
		}
		told = append(told, short)
	}
	if d, ok := s.dec.(interface{ Lost() (int64, bool) }); ok {
		silent, some := d.Lost()
		switch {
		case silent > 0:
			told = append(told, fmt.Sprintf("the audio is damaged: %.1f s could not be read and are silent", max(float64(silent)/float64(s.Rate()), 0.1)))
		case some && !cut:
			told = append(told, "the audio is damaged: a part of it could not be read")
		}
	}
	return strings.Join(told, "; ")
}

// Read implements Decoder. A stream that ends without a single frame is an
// error.
func (s *Stream) Read(dst []float32) (int, error) {
	channels := s.Channels()
	if len(dst) < channels {
		panic(fmt.Sprintf("codecs: Read of %d samples with %d channels", len(dst), channels))
	}
	if s.err != nil {
		return 0, s.err
	}
	// A decoder may return nothing and no error now and then, but not for ever.
	n, err := 0, error(nil)
	for try := 0; n == 0 && err == nil; try++ {
		if try == 1000 {
			err = io.ErrNoProgress
			break
		}
		err = protect(func() (err error) {
			n, err = s.dec.Read(dst)
			return err
		})
	}
	for i, v := range dst[:n] {
		if v-v != 0 {
			dst[i] = 0
		}
	}
	s.frames += int64(n / channels)
	switch {
	case err == nil:
		err = s.check()
	case err == io.EOF && s.src.err != nil:
		err = s.src.err // what looked like the end was none
	case err == io.EOF && s.frames == 0:
		err = ErrEmpty
	}
	if err != nil && err != io.EOF {
		err = s.explain(err)
	}
	if err != nil {
		s.err = err
		if n > 0 {
			err = nil // next time
		}
	}
	return n, err
}

// check holds the stream against the limits. What a header claims about its
// length is not taken for true: streams are written with the largest number.
func (s *Stream) check() error {
	rate, channels := s.Rate(), s.Channels()
	played := time.Duration(float64(s.frames) / float64(max(rate, 1)) * float64(time.Second))
	switch o := s.limit; {
	case rate <= 0 || channels <= 0:
		return fmt.Errorf("%w: %d Hz, %d channels", ErrFormat, rate, channels)
	case channels > o.MaxChannels:
		return fmt.Errorf("%w: %d channels, the limit is %d", ErrLimit, channels, o.MaxChannels)
	case s.frames > o.MaxFrames:
		return fmt.Errorf("%w: more than %d frames", ErrLimit, o.MaxFrames)
	case played > o.MaxDuration:
		return fmt.Errorf("%w: longer than %v", ErrLimit, o.MaxDuration)
	}
	return nil
}

// explain makes an *Error of what a decoder said, unless it is the input's own.
func (s *Stream) explain(err error) error {
	if s.src.err != nil || errors.Is(err, ErrLimit) || errors.Is(err, ErrEmpty) {
		return s.src.explain(s.format.title, err)
	}
	if f := (*fault.Error)(nil); errors.Is(err, ErrUnsupported) && errors.As(err, &f) {
		// "unsupported MP4: AC-3 audio" becomes "MP4 with AC-3 audio: not
		// supported".
		detail := strings.TrimPrefix(err.Error(), f.Error()+": ")
		return &Error{Found: s.format.title + " with " + detail, Kind: ErrUnsupported}
	}
	return &Error{Found: s.format.title, Kind: ErrFormat, Err: err}
}
