package ogg

import (
	"encoding/binary"
	"io"
)

// A Writer writes the pages of one logical stream.
type Writer struct {
	w         io.Writer
	serial    uint32
	sequence  uint32
	continued bool // the page begins inside a packet
	lacing    []byte
	body      []byte
	granule   int64 // of the last packet that ends on the page
	packets   int   // that end on it
	page      []byte
}

// NewWriter returns a Writer for the stream with the serial number given, which
// must differ between the streams that one file multiplexes or chains.
func NewWriter(w io.Writer, serial uint32) *Writer { return &Writer{w: w, serial: serial} }

// WritePacket adds a packet; granule is the stream's position at its end. Pages
// are written as they fill up.
func (w *Writer) WritePacket(packet []byte, granule int64) error {
	for rest := packet; ; {
		if len(w.lacing) == 255 {
			// The packet continues; if it has just begun the page is another's.
			if err := w.flush(0, len(rest) < len(packet)); err != nil {
				return err
			}
		}
		n := min(len(rest), 255)
		w.lacing = append(w.lacing, byte(n))
		w.body = append(w.body, rest[:n]...)
		rest = rest[n:]
		if n < 255 {
			break
		}
	}
	w.granule = granule
	w.packets++
	return nil
}

// Packets returns the number of packets that end on the page being filled.
func (w *Writer) Packets() int { return w.packets }

// Flush ends the page, if there is anything on it.
func (w *Writer) Flush() error {
	if len(w.lacing) == 0 {
		return nil
	}
	return w.flush(0, false)
}

// Close writes the last page, empty if need be, with granule as the position at
// which the stream ends. It does not close what it writes to.
func (w *Writer) Close(granule int64) error {
	w.granule = granule
	w.packets++
	return w.flush(flagLast, false)
}

// flush writes a page. continues tells that its last packet goes on.
func (w *Writer) flush(flags byte, continues bool) error {
	if w.sequence == 0 {
		flags |= flagFirst
	}
	if w.continued {
		flags |= flagContinued
	}
	granule := w.granule
	if w.packets == 0 {
		granule = -1
	}
	le := binary.LittleEndian
	p := append(w.page[:0], magic...)
	p = append(p, 0, flags)
	p = le.AppendUint64(p, uint64(granule))
	p = le.AppendUint32(p, w.serial)
	p = le.AppendUint32(p, w.sequence)
	p = le.AppendUint32(p, 0)
	p = append(p, byte(len(w.lacing)))
	p = append(append(p, w.lacing...), w.body...)
	le.PutUint32(p[22:], checksum(p))
	w.page = p
	w.sequence++
	w.continued = continues
	w.lacing, w.body, w.packets = w.lacing[:0], w.body[:0], 0
	_, err := w.w.Write(p)
	return err
}
