// Package decoded keeps what a reader of packets has decoded until it is read.
package decoded

import "io"

// Sound is samples that were decoded and not yet read, and how decoding went.
type Sound struct {
	Buf []float32 // of the packet decoded last; what is read of it stays
	Bad error     // of the first packet that did not decode
	Err error     // what ended the stream

	next int  // first of Buf that was not read
	good bool // some packet decoded
}

// Add decodes a packet into Buf.
func (s *Sound) Add(d interface {
	Decode(dst []float32, packet []byte) ([]float32, error)
}, packet []byte) {
	var err error
	if s.Buf, err = d.Decode(s.Buf, packet); err == nil {
		s.good = true
	} else {
		s.Drop(err)
	}
}

// Drop notes why a packet does not decode.
func (s *Sound) Drop(err error) {
	if s.Bad == nil {
		s.Bad = err
	}
}

// Read fills dst. add, where a packet waits, is called for the next, and then more for further
// packets, until that fails; when no packet decodes, the stream ends with the first one's error.
func (s *Sound) Read(dst []float32, waits func() bool, add func(), more func() error) (int, error) {
	for s.next == len(s.Buf) {
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
	n := copy(dst, s.Buf[s.next:])
	s.next += n
	return n, nil
}
