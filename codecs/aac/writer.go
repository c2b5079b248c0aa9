package aac

import "io"

// A Writer encodes an ADTS stream at a constant bit rate, headers included. It may be cut
// between any two frames.
type Writer struct {
	*Encoder
	dst   io.Writer
	frame []byte
}

// NewWriter returns a Writer of sound at rate Hz with 1 or 2 channels at bitrate bit/s.
// Rates are those the standard has; the error for others names the nearest.
func NewWriter(w io.Writer, rate, channels, bitrate int) (*Writer, error) {
	a := &Writer{dst: w}
	var err error
	a.Encoder, err = NewEncoder(rate, channels, bitrate, 8*headerSize, a.emit)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// emit writes a unit with its header.
func (a *Writer) emit(unit []byte) error {
	h := header{
		object: objectLC, rateIndex: a.rateIndex, channels: a.channels,
		length: headerSize + len(unit), blocks: 1,
	}
	a.frame = append(h.append(a.frame[:0], a.Reservoir()/(32*a.channels)), unit...)
	_, err := a.dst.Write(a.frame)
	return err
}

// append writes the header of a frame without a checksum. fullness is that of the bit
// reservoir.
func (h header) append(p []byte, fullness int) []byte {
	return append(p, 0xff, 0xf1,
		byte((h.object-1)<<6|h.rateIndex<<2|h.channels>>2),
		byte(h.channels<<6|h.length>>11),
		byte(h.length>>3),
		byte(h.length<<5|fullness>>6),
		byte(fullness<<2|h.blocks-1))
}
