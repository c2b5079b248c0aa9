// Package webm decodes the audio of WebM and Matroska files (RFC 9559), live
// ones without sizes included.
package webm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"quern/codecs/internal/decoded"
	"quern/codecs/internal/fault"
	"quern/codecs/mp3"
)

var (
	// ErrFormat is wrapped by every error about malformed data.
	ErrFormat = fault.Malformed("WebM")

	// ErrUnsupported is wrapped by every error about a valid file that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("WebM")
)

// A Reader decodes one track: the first of audio that is marked as default, or
// the first of audio.
//
// Elements are taken one after the other without regard to where a Segment or
// Cluster ends. Their children have IDs of their own, so nothing is ambiguous,
// and unknown sizes need no special care.
type Reader struct {
	r       *bufio.Reader
	doctype string
	scale   uint64  // ns of a tick
	ticks   float64 // Duration

	chosen bool   // the track is
	number uint64 // of the track
	strip  []byte
	codec  string
	dec    packetDecoder
	mp3    *mp3.Reader // instead of dec
	rate   int
	chans  int
	delay  int64 // CodecDelay, ns
	skip   int   // frames still to drop from the start

	block  []byte
	frames [][]byte // of the block, waiting
	drop   int64    // DiscardPadding of the block, ns
	packet []byte   // a frame with what was stripped from it

	out decoded.Sound
}

// NewReader reads up to the first block of the chosen track.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{r: bufio.NewReaderSize(r, 1<<16), scale: defaultNanoPerTic}
	if b, _ := d.r.Peek(4); len(b) < 4 || unsigned(b) != idEBML {
		return nil, fmt.Errorf("%w: no EBML header", ErrFormat)
	}
	for len(d.frames) == 0 {
		if err := d.next(); err != nil {
			if err != io.EOF {
				return nil, err
			}
			if !d.chosen {
				return nil, fmt.Errorf("%w: the file ends before its tracks", ErrFormat)
			}
			d.out.Err = io.EOF // tracks without a block
			break
		}
	}
	if d.dec == nil {
		var err error
		if d.mp3, err = mp3.NewReader(&frameReader{d: d}); err != nil {
			return nil, fmt.Errorf("%s track: %w", d.codec, err)
		}
		d.begin(d.mp3.Rate(), d.mp3.Channels())
	}
	return d, nil
}

// DocType returns "webm" or "matroska".
func (d *Reader) DocType() string { return d.doctype }

// Codec returns a name like "Opus".
func (d *Reader) Codec() string { return d.codec }

// Rate returns the sampling rate in Hz.
func (d *Reader) Rate() int { return d.rate }

// Channels returns the number of channels; more than two come in WAVE order.
func (d *Reader) Channels() int { return d.chans }

// Duration returns the length that the header claims, 0 when it does not.
func (d *Reader) Duration() time.Duration {
	ns := d.ticks * float64(d.scale)
	if !(ns > 0 && ns < math.MaxInt64/2) {
		return 0
	}
	return time.Duration(ns)
}

// Lost tells whether frames of the track are missing or did not decode. No silence stands for them.
func (d *Reader) Lost() (frames int64, some bool) {
	frames, some = d.out.Lost()
	if d.mp3 != nil && !some {
		return d.mp3.Lost()
	}
	return frames, some
}

// Read fills dst with whole frames, interleaved. Frames of the track that do
// not decode are dropped; when none decodes, the stream ends with the first
// one's error. A file that is cut off ends with its last whole block.
func (d *Reader) Read(dst []float32) (int, error) {
	dst = dst[:len(dst)/d.chans*d.chans]
	if d.mp3 != nil {
		return d.readMP3(dst)
	}
	return d.out.Read(dst, func() bool { return len(d.frames) > 0 }, d.decode, d.next)
}

// next reads the next element, or enters it. Where there is none behind the tracks, the file
// is damaged, and the next cluster is taken.
func (d *Reader) next() error {
	err := d.element()
	if !d.chosen || !errors.Is(err, ErrFormat) {
		return err
	}
	d.out.Drop(err)
	return findCluster(d.r)
}

// element reads the next element, or enters it.
func (d *Reader) element() error {
	id, size, err := header(d.r)
	if err != nil {
		return err
	}
	limit := uint64(maxHeader)
	switch id {
	case idSegment, idCluster:
		return nil
	case idEBML, idInfo, idTracks:
		if size > limit {
			return fmt.Errorf("%w: a header of %d bytes", ErrFormat, size)
		}
	case idSimpleBlock, idBlockGroup:
		if limit = maxBlock; size > limit && size != unknown {
			return skip(d.r, size) // no audio
		}
	default:
		return skip(d.r, size)
	}
	if size > limit {
		return fmt.Errorf("%w: an element of unknown size that must have one", ErrFormat)
	}
	b, err := d.body(int(size))
	if err != nil {
		return err
	}
	switch id {
	case idEBML, idInfo:
		return children(b, d.info)
	case idTracks:
		return d.tracks(b)
	case idSimpleBlock:
		return d.take(b, 0)
	}
	return d.group(b)
}

// body reads the body of an element. It grows with what there is, whatever the
// size claims, and is valid until the next call.
func (d *Reader) body(size int) ([]byte, error) {
	b := d.block[:0]
	for len(b) < size {
		n := min(size-len(b), 1<<16)
		b = append(b, make([]byte, n)...)
		if _, err := io.ReadFull(d.r, b[len(b)-n:]); err != nil {
			if err == io.ErrUnexpectedEOF {
				err = io.EOF
			}
			return nil, err
		}
	}
	d.block = b
	return b, nil
}

// info takes a child of the EBML header or of Info.
func (d *Reader) info(id uint64, b []byte) error {
	switch id {
	case idDocType:
		d.doctype = string(b[:min(len(b), 16)])
	case idTimestampScale:
		d.scale = unsigned(b)
	case idDuration:
		d.ticks = float(b)
	}
	return nil
}

// tracks chooses the track to decode.
func (d *Reader) tracks(b []byte) error {
	if d.chosen {
		return nil // Tracks may be repeated; they are the same
	}
	var chosen *track
	kinds := 0
	err := children(b, func(id uint64, b []byte) error {
		if id != idTrackEntry {
			return nil
		}
		t, err := parseTrack(b)
		if err != nil {
			return err
		}
		kinds++
		if t.kind == trackTypeAudio && t.enabled && (chosen == nil || t.preferred && !chosen.preferred) {
			chosen = t
		}
		return nil
	})
	if err != nil {
		return err
	}
	if chosen == nil {
		return fmt.Errorf("%w: none of %d tracks is audio", ErrUnsupported, kinds)
	}
	if d.dec, d.codec, err = chosen.open(); err != nil {
		return err
	}
	d.chosen, d.number, d.strip = true, chosen.number, chosen.strip
	d.delay = min(chosen.delay, int64(time.Second))
	if d.dec == nil {
		return nil
	}
	d.begin(d.dec.Rate(), d.dec.Channels())
	if o, ok := d.dec.(interface{ PreSkip() int }); ok && d.delay == 0 {
		d.skip = o.PreSkip()
	}
	return nil
}

// begin is called when the decoder is known.
func (d *Reader) begin(rate, channels int) {
	d.rate, d.chans = rate, channels
	d.skip = int(float64(d.delay)*float64(rate)/1e9 + .5)
}

// group takes a BlockGroup.
func (d *Reader) group(b []byte) error {
	var block []byte
	var discard int64
	err := children(b, func(id uint64, b []byte) error {
		switch id {
		case idBlock:
			block = b
		case idDiscardPadding:
			discard = signed(b)
		}
		return nil
	})
	if err != nil || block == nil {
		return err
	}
	return d.take(block, discard)
}

// take queues the frames of a block if it belongs to the track.
func (d *Reader) take(b []byte, discard int64) error {
	number, n := vint(b, false)
	const rest = 2 + 1 // timestamp, flags
	if n == 0 || len(b) < n+rest || !d.chosen || number != d.number {
		return nil
	}
	var err error
	if d.frames, err = unlace(d.frames[:0], b[n+rest:], b[n+rest-1]); err != nil {
		d.frames = d.frames[:0]
		d.out.Drop(err)
		return nil
	}
	d.drop = discard
	return nil
}

// frame takes the next frame off the queue.
func (d *Reader) frame() []byte {
	packet := d.frames[0]
	d.frames = append(d.frames[:0], d.frames[1:]...)
	if len(d.strip) > 0 {
		d.packet = append(append(d.packet[:0], d.strip...), packet...)
		packet = d.packet
	}
	return packet
}

// decode decodes the next frame of the block.
func (d *Reader) decode() {
	d.out.Add(d.dec, d.frame())
	x := d.out.Buf
	n := min(len(x)/d.chans, d.skip)
	d.skip -= n
	x = x[n*d.chans:]
	// DiscardPadding counts from the end of the last frame of a block or, when
	// negative, from the start of its first.
	drop := int(math.Abs(float64(d.drop))*float64(d.rate)/1e9+.5) * d.chans
	switch {
	case d.drop > 0 && len(d.frames) == 0:
		x = x[:max(len(x)-drop, 0)]
	case d.drop < 0:
		x = x[min(len(x), drop):]
		d.drop = 0
	}
	d.out.Buf = x
}

// frameReader is the frames of the track as one stream.
type frameReader struct {
	d    *Reader
	rest []byte
}

func (f *frameReader) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if len(f.d.frames) > 0 {
			f.rest = f.d.frame()
		} else if f.d.out.Err != nil {
			return 0, f.d.out.Err
		} else {
			f.d.out.Err = f.d.next()
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// readMP3 is Read for a track of MP3. Frames refer to those before, so that
// mp3.Reader wants a stream and not packets.
func (d *Reader) readMP3(dst []float32) (int, error) {
	for {
		n, err := d.mp3.Read(dst)
		drop := min(d.skip, n/d.chans)
		d.skip -= drop
		if n -= drop * d.chans; n > 0 || err != nil {
			return copy(dst, dst[drop*d.chans:][:n]), err
		}
	}
}
