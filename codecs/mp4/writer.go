package mp4

import (
	"fmt"
	"io"
	"math"

	"quern/codecs/aac"
)

// A Writer encodes AAC-LC at a constant bit rate into an MP4 file of one track (M4A).
//
// A plain file is held in memory, 8 kB a second at 64 kbit/s, until Close can write its
// header, which is in front: what is played is exactly what was written. A file in
// fragments goes out as it is made; its header cannot tell where the sound ends, so that
// up to a unit of silence follows, and only the last unit's duration says so.
type Writer struct {
	*aac.Encoder
	dst            io.Writer
	rate, channels int
	bitrate        int
	fragmented     bool
	err            error
	begun, closed  bool

	data  []byte   // of units not yet written
	sizes []uint32 // of these units

	perFragment int
	fragments   uint32
	before      uint64 // units in fragments before
	buf         builder
}

// fragmentTime is about how much sound a fragment has, in parts of a second.
const fragmentTime = 5

const unitFrames = 1024

// NewWriter returns a Writer for sound at rate Hz with 1 or 2 channels at bitrate bit/s,
// in fragments or plain.
func NewWriter(w io.Writer, rate, channels, bitrate int, fragmented bool) (*Writer, error) {
	m := &Writer{dst: w, rate: rate, channels: channels, bitrate: bitrate, fragmented: fragmented}
	m.perFragment = max(1, rate/fragmentTime/unitFrames)
	var err error
	if m.Encoder, err = aac.NewEncoder(rate, channels, bitrate, 0, m.unit); err != nil {
		return nil, wrap(err)
	}
	return m, nil
}

// Write encodes as aac.Encoder does, and writes fragments that are complete.
func (m *Writer) Write(x []float32) error {
	m.begin()
	if m.err != nil {
		return m.err
	}
	return m.Encoder.Write(x)
}

// begin writes the header of a file in fragments once.
func (m *Writer) begin() {
	if m.begun || !m.fragmented {
		return
	}
	m.begun = true
	m.buf = m.buf[:0]
	m.buf.fileType()
	m.header(0)
	_, m.err = m.dst.Write(m.buf)
}

// unit keeps a unit, and writes the fragment it completes.
func (m *Writer) unit(unit []byte) error {
	m.data = append(m.data, unit...)
	m.sizes = append(m.sizes, uint32(len(unit)))
	if m.fragmented && len(m.sizes) == m.perFragment {
		return m.fragment(unitFrames)
	}
	return nil
}

// Close writes what is left, or the whole of a plain file.
func (m *Writer) Close() error {
	if m.closed {
		return m.err
	}
	m.closed = true
	m.begin()
	if m.err == nil && m.fragmented {
		// The end belongs to the last fragment, whose last unit is shorter.
		m.perFragment = math.MaxInt
	}
	if err := m.Encoder.Close(); m.err == nil {
		m.err = err
	}
	switch {
	case m.err != nil:
	case !m.fragmented:
		m.err = m.file()
	case len(m.sizes) > 0:
		m.err = m.fragment(m.lastDuration(m.before + uint64(len(m.sizes))))
	}
	return m.err
}

// lastDuration is how many frames of the last of so many units are sound.
func (m *Writer) lastDuration(units uint64) uint32 {
	return uint32(uint64(m.Frames()) + aac.EncoderDelay - (units-1)*unitFrames)
}

// file writes a plain file.
func (m *Writer) file() error {
	m.buf = m.buf[:0]
	m.buf.fileType()
	head := len(m.buf)
	// Offsets lie in the header, whose length does not depend on them.
	m.header(0)
	size := uint64(len(m.buf)) + 8 + uint64(len(m.data))
	if size > math.MaxUint32 {
		return fmt.Errorf("%w: a plain file of %d bytes; write it in fragments", ErrUnsupported, size)
	}
	at := uint32(len(m.buf) + 8)
	m.buf = m.buf[:head]
	m.header(at)
	m.buf.u32(uint32(8 + len(m.data)))
	m.buf.text("mdat")
	if _, err := m.dst.Write(m.buf); err != nil {
		return err
	}
	_, err := m.dst.Write(m.data)
	return err
}

// fragment writes the units as a fragment, the last of which lasts so many frames.
//
// ISO/IEC 14496-12, 8.8.
func (m *Writer) fragment(last uint32) error {
	const baseIsFragment = 1 << 17 // of tfhd: default-base-is-moof
	b := &m.buf
	*b = (*b)[:0]
	m.fragments++
	moof := b.open("moof")
	mfhd := b.full("mfhd", 0, 0)
	b.u32(m.fragments)
	b.close(mfhd)
	traf := b.open("traf")
	tfhd := b.full("tfhd", 0, baseIsFragment)
	b.u32(trackID)
	b.close(tfhd)
	tfdt := b.full("tfdt", 1, 0)
	b.u64(m.before * unitFrames)
	b.close(tfdt)
	flags := uint32(trunOffset | trunSize)
	if last != unitFrames {
		flags |= trunDuration
	}
	trun := b.full("trun", 0, flags)
	b.u32(uint32(len(m.sizes)))
	offset := len(*b)
	b.u32(0)
	for i, n := range m.sizes {
		if flags&trunDuration != 0 {
			if i == len(m.sizes)-1 {
				b.u32(last)
			} else {
				b.u32(unitFrames)
			}
		}
		b.u32(n)
	}
	b.close(trun)
	b.close(traf)
	b.close(moof)
	be.PutUint32((*b)[offset:], uint32(len(*b)+8))
	b.u32(uint32(8 + len(m.data)))
	b.text("mdat")
	*b = append(*b, m.data...)
	m.before += uint64(len(m.sizes))
	m.data, m.sizes = m.data[:0], m.sizes[:0]
	_, err := m.dst.Write(*b)
	return err
}
