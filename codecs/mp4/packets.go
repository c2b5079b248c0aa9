package mp4

import (
	"fmt"
	"io"
)

// maxPacket bounds the bytes of a sample that is a packet.
const maxPacket = 1 << 24

// blockBytes is about how much PCM is read at once.
const blockBytes = 1 << 16

// A samples goes through the bytes of the samples of a track: those of the
// sample table, then those of fragments.
type samples struct {
	f         *file
	table     *table     // nil when done
	fragments *fragments // nil when done or none
	budget    int64      // bytes yet to be returned: in all, those of the file
	buf       []byte
	block     sample // of PCM, not yet read
	unread    []byte // of a packet, for Read
}

// next returns where the next sample lies, or io.EOF. A sample beyond the end
// of the file, which was cut then, ends the track.
func (s *samples) next() (sample, error) {
	for {
		p, err := s.listed()
		if err != nil {
			return p, err
		}
		if p.size == 0 {
			continue
		}
		if p.off < 0 || p.off > s.f.size || p.size > s.f.size-p.off {
			return p, io.EOF
		}
		if s.budget -= p.size; s.budget < 0 {
			return p, fmt.Errorf("%w: samples overlap", ErrFormat)
		}
		return p, nil
	}
}

// listed returns the next sample that the file lists.
func (s *samples) listed() (sample, error) {
	if s.table != nil {
		p, err := s.table.next()
		if err != io.EOF {
			return p, err
		}
		s.table = nil
	}
	if s.fragments != nil {
		p, err := s.fragments.next()
		if err != io.EOF {
			return p, err
		}
		s.fragments = nil
	}
	return sample{}, io.EOF
}

// packet returns the bytes of the next sample, valid until the next call.
func (s *samples) packet() ([]byte, error) {
	p, err := s.next()
	if err != nil {
		return nil, err
	}
	if p.size > maxPacket {
		return nil, fmt.Errorf("%w: sample of %d bytes", ErrFormat, p.size)
	}
	return s.load(p)
}

// frames returns the bytes of frames of PCM that lie together, valid until the
// next call.
func (s *samples) frames(size int64) ([]byte, error) {
	for s.block.size < size {
		// What is left of a block is no whole frame.
		p, err := s.next()
		if err != nil {
			return nil, err
		}
		s.block = p
	}
	// Samples are single frames as a rule.
	var after sample
	for s.block.size < blockBytes {
		p, err := s.next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if p.off != s.block.off+s.block.size {
			after = p
			break
		}
		s.block.size += p.size
	}
	n := min(s.block.size, blockBytes)
	n -= n % size
	p, err := s.load(sample{s.block.off, n})
	s.block.off += n
	s.block.size -= n
	if after.size > 0 {
		s.block = after
	}
	return p, err
}

func (s *samples) load(p sample) ([]byte, error) {
	if int64(cap(s.buf)) < p.size {
		s.buf = make([]byte, p.size)
	}
	s.buf = s.buf[:p.size]
	return s.buf, s.f.read(s.buf, p.off)
}

// Read reads the bytes of samples as if they followed each other.
func (s *samples) Read(p []byte) (int, error) {
	if len(s.unread) == 0 {
		var err error
		if s.unread, err = s.packet(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// A decoder turns a packet, or whole frames of PCM, into interleaved values,
// which it appends to dst.
type decoder interface {
	Rate() int
	Channels() int
	Decode(dst []float32, packet []byte) ([]float32, error)
}

// A packets is the stream a decoder makes of samples. Packets that do not
// decode are dropped; when none does, the first one's error ends the stream.
type packets struct {
	decoder
	read  func() ([]byte, error)
	pcm   []float32
	rest  []float32 // of pcm, not yet read
	first error     // of the first packet that did not decode
	any   bool      // some packet decoded
}

// packetsOf returns how to open a codec of which samples are packets.
func packetsOf(open func(*entry) (decoder, error)) func(*entry, *samples) (stream, error) {
	return func(e *entry, s *samples) (stream, error) {
		d, err := open(e)
		if err != nil {
			return nil, err
		}
		return newPackets(d, s.packet)
	}
}

// openPCM opens PCM, of which a sample is one frame, or many.
func openPCM(e *entry, s *samples) (stream, error) {
	d, err := newPCM(e)
	if err != nil {
		return nil, err
	}
	frame := int64(d.frame())
	if t := s.table; t != nil && t.fixed != 0 && t.fixed%frame != 0 {
		// QuickTime counts frames and may give any size, often 1.
		t.fixed = frame
	}
	return newPackets(d, func() ([]byte, error) { return s.frames(frame) })
}

// newPackets returns the stream after decoding its first packet.
func newPackets(d decoder, read func() ([]byte, error)) (stream, error) {
	p := &packets{decoder: d, read: read}
	err := p.fill()
	if err == io.EOF {
		err = fmt.Errorf("%w: no samples", ErrFormat)
	}
	return p, err
}

func (p *packets) Read(dst []float32) (int, error) {
	for len(p.rest) == 0 {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// fill decodes the next packet that can be.
func (p *packets) fill() error {
	for {
		b, err := p.read()
		if err == io.EOF && !p.any && p.first != nil {
			err = p.first
		}
		if err != nil {
			return err
		}
		if p.pcm, err = p.Decode(p.pcm[:0], b); err != nil {
			if p.first == nil {
				p.first = err
			}
			continue
		}
		p.any = true
		if p.rest = p.pcm; len(p.rest) > 0 {
			return nil
		}
	}
}
