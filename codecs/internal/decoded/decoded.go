// Package decoded keeps what a reader of packets has decoded until it is read.
package decoded

import "io"

// sparsest is the fewest bytes that hold a second of sound. A hole is not believed to be longer
// than what was passed over could have held, so that silence is bounded by the input.
const sparsest = 50

// Sound is samples that were decoded and not yet read, and how decoding went.
type Sound struct {
	Buf     []float32 // of the packet decoded last; what is read of it stays
	Silence int64     // values that are read before Buf
	Bad     error     // of the first packet that did not decode
	Err     error     // what ended the stream

	next  int  // first of Buf that was not read
	good  bool // some packet decoded
	holes bool // sound is missing between packets
	lost  int64
}

// Add decodes a packet into Buf. One of nothing, as FFmpeg writes behind FLAC, lasts no time.
func (s *Sound) Add(d interface {
	Decode(dst []float32, packet []byte) ([]float32, error)
}, packet []byte) {
	if len(packet) == 0 {
		return
	}
	var err error
	if s.Buf, err = d.Decode(s.Buf, packet); err == nil {
		s.Good()
	} else {
		s.Drop(err)
	}
}

// Good notes that a packet was decoded.
func (s *Sound) Good() { s.good = true }

// Drop notes why a packet does not decode.
func (s *Sound) Drop(err error) {
	if s.Bad == nil {
		s.Bad = err
	}
}

// Hole notes that sound is missing, of so many frames if the stream tells, 0 or less if it does
// not. It returns how many frames of silence stand for it, given the bytes that were passed over.
func (s *Sound) Hole(frames, passed int64, rate int) int64 {
	s.holes = true
	if frames <= 0 || float64(frames) > float64(passed)/sparsest*float64(rate) {
		return 0
	}
	s.lost += frames
	return frames
}

// Lost tells whether sound is missing within what was read, and how many frames of silence
// stand for it: 0 where the stream does not tell.
func (s *Sound) Lost() (frames int64, some bool) { return s.lost, s.holes || s.Bad != nil }

// Read fills dst. add, where a packet waits, is called for the next, and then more for further
// packets, until that fails; when no packet decodes, the stream ends with the first one's error.
func (s *Sound) Read(dst []float32, waits func() bool, add func(), more func() error) (int, error) {
	for s.next == len(s.Buf) && s.Silence == 0 {
		s.Buf, s.next = s.Buf[:0], 0
		switch {
		case waits():
			add()
		case s.Err == nil:
			s.Err = more()
		case s.Err == io.EOF && !s.good && s.Bad != nil:
			return 0, s.Bad
		default:
			return 0, s.Err
		}
	}
	if s.Silence > 0 {
		n := int(min(s.Silence, int64(len(dst))))
		clear(dst[:n])
		s.Silence -= int64(n)
		return n, nil
	}
	n := copy(dst, s.Buf[s.next:])
	s.next += n
	return n, nil
}
