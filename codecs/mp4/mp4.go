// Package mp4 decodes the sound of MP4, M4A, MOV and 3GP files: the ISO base
// media file format and its ancestor QuickTime, whole or in fragments. It writes AAC in
// M4A files, both ways.
//
// It reads the header and the sample tables piece by piece, so that memory does
// not grow with the length of a file, and trusts no number in them.
//
// ISO/IEC 14496-12, 14496-14; QuickTime File Format Specification.
package mp4

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"quern/codecs/internal/fault"
)

var (
	// ErrFormat is wrapped by every error about a malformed file.
	ErrFormat = fault.Malformed("MP4")

	// ErrUnsupported is wrapped by every error about a valid file that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("MP4")

	errShort = fmt.Errorf("%w: box ends early", ErrFormat)
)

var be = binary.BigEndian

const (
	maxChannels = 8
	maxRate     = 768000

	// Files give times of HE-AAC as they are behind the band replication, which
	// delays the core by so many of its frames. ISO/IEC 14496-3, 4.6.18.
	coreLead = 481
)

// A Reader decodes the first enabled track of sound in a file: what its edit
// list, or an iTunSMPB tag, says is to be played. Pauses of an edit list are
// left out.
type Reader struct {
	stream   stream
	name     string
	spans    []span // what is played, in frames
	duration time.Duration
	at       int64 // frames decoded
}

// NewReader reads the header of a file of size bytes, and its first samples.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	f := &file{r, size}
	moov, err := f.findMovie()
	if err != nil {
		return nil, err
	}
	m, err := f.readMovie(moov)
	if err != nil {
		return nil, err
	}
	s := &samples{f: f, budget: size}
	if s.table, err = newTable(f, m.track.table); err != nil {
		return nil, err
	}
	if m.fragments {
		n, err := f.sampleSize(moov, m.track.id)
		if err != nil {
			return nil, err
		}
		s.fragments = newFragments(f, m.track.id, n)
	}
	d := &Reader{}
	if d.stream, d.name, err = m.track.entry.open(s); err != nil {
		return nil, err
	}
	if n := d.Channels(); n > maxChannels {
		return nil, fmt.Errorf("%w: %d channels", ErrUnsupported, n)
	}
	delay, early := 0, 0
	if p, ok := d.stream.(*packets); ok {
		switch c := p.decoder.(type) {
		case interface{ PreSkip() int }:
			delay = c.PreSkip()
		case interface{ Core() bool }:
			if c.Core() {
				early = coreLead
			}
		}
	}
	if d.spans, err = m.spans(d.Rate(), delay); err != nil {
		return nil, err
	}
	for i := range d.spans {
		d.spans[i] = d.spans[i].earlier(int64(early))
	}
	d.duration = m.length(d.spans, d.Rate())
	return d, nil
}

// Rate returns the sampling rate in Hz. Of HE-AAC it is that of the core, half
// of what the file says.
func (d *Reader) Rate() int { return d.stream.Rate() }

// Channels returns the number of channels, which come in WAVE order.
func (d *Reader) Channels() int { return d.stream.Channels() }

// Codec names what the sound is coded with, and for AAC its profile.
func (d *Reader) Codec() string {
	if p, ok := d.stream.(*packets); ok {
		if a, ok := p.decoder.(interface{ Profile() string }); ok {
			return a.Profile()
		}
	}
	return d.name
}

// Duration returns the length the header claims, 0 when it does not.
func (d *Reader) Duration() time.Duration { return d.duration }

// Lost tells whether samples of the track did not decode. No silence stands for them.
func (d *Reader) Lost() (frames int64, some bool) {
	p, ok := d.stream.(*packets)
	return 0, ok && p.first != nil
}

// Read fills dst, which holds a frame at least, with whole frames, interleaved,
// and returns how many values they are; io.EOF at the end. Samples that do not
// decode are dropped.
func (d *Reader) Read(dst []float32) (int, error) {
	ch := d.Channels()
	if len(dst) < ch {
		panic(fmt.Sprintf("mp4: Read of %d channels into %d values", ch, len(dst)))
	}
	dst = dst[:len(dst)-len(dst)%ch]
	for len(d.spans) > 0 {
		s := d.spans[0]
		want := dst
		if s.to >= 0 {
			if d.at >= s.to {
				d.spans = d.spans[1:]
				continue
			}
			want = dst[:min(int64(len(dst)/ch), s.to-d.at)*int64(ch)]
		}
		n, err := d.stream.Read(want)
		if err != nil || n == 0 {
			return 0, wrap(err)
		}
		start := d.at
		d.at += int64(n / ch)
		if skip := max(s.from-start, 0) * int64(ch); skip < int64(n) {
			return copy(dst, want[skip:n]), nil
		}
	}
	return 0, io.EOF
}

// length is how long the spans are, with what the header says of an open end.
func (m *movie) length(spans []span, rate int) time.Duration {
	var frames int64
	for _, s := range spans {
		to := s.to
		if to < 0 {
			to = mulDiv(m.track.duration, uint64(rate), uint64(m.track.scale))
			if to == 0 {
				to = mulDiv(m.duration, uint64(rate), uint64(m.scale))
			}
		}
		frames += min(max(to-s.from, 0), maxFrames/maxEdits)
	}
	// A file can claim ages.
	return time.Duration(min(float64(frames)/float64(rate), 1e9) * float64(time.Second))
}
