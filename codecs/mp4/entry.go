package mp4

import (
	"encoding/binary"
	"fmt"
	"math"
)

// An entry is a sound description.
//
// ISO/IEC 14496-12, 12.2.3; QuickTime File Format, sound sample descriptions.
type entry struct {
	kind     string // as in the file
	channels int
	bits     int // of a PCM sample
	rate     int
	flags    uint32 // of lpcm
	little   bool   // PCM, where the kind does not say

	object byte              // of an esds: what the samples are
	config []byte            // of an esds
	boxes  map[string][]byte // alac, dOps, dfLa, pcmC: their contents
}

// parseEntry reads the content of a sound description of the kind given, from a
// table stsd of the version given.
func parseEntry(kind string, p []byte, version byte) (entry, error) {
	e := entry{kind: kind, boxes: map[string][]byte{}}
	if len(p) < 28 {
		return e, fmt.Errorf("%w: sound description %q of %d bytes", ErrFormat, kind, len(p))
	}
	e.channels = int(be.Uint16(p[16:]))
	e.bits = int(be.Uint16(p[18:]))
	e.rate = int(be.Uint32(p[24:]) >> 16)
	rest := p[28:]
	// QuickTime's versions of a description are longer; ISO's version 1 is not,
	// and comes in a table of version 1.
	switch v := be.Uint16(p[8:]); {
	case version == 0 && v == 1:
		if len(rest) < 16 {
			return e, errShort
		}
		rest = rest[16:]
	case version == 0 && v == 2:
		if len(rest) < 36 {
			return e, errShort
		}
		if r := math.Float64frombits(be.Uint64(rest[4:])); r >= 1 && r <= maxRate {
			e.rate = int(r)
		}
		e.channels = int(be.Uint32(rest[12:]))
		e.bits = int(be.Uint32(rest[20:]))
		e.flags = be.Uint32(rest[24:])
		rest = rest[36:]
	}
	return e, e.readBoxes(rest, 0)
}

// readBoxes takes the boxes of a description. Those in a wave box are as good
// as those beside it.
func (e *entry) readBoxes(p []byte, depth int) error {
	for len(p) >= 8 {
		size := be.Uint32(p)
		if size < 8 || uint64(size) > uint64(len(p)) {
			return nil // QuickTime ends lists with a zero
		}
		kind, content := string(p[4:8]), p[8:size]
		p = p[size:]
		switch kind {
		case "wave":
			if depth == 0 {
				if err := e.readBoxes(content, 1); err != nil {
					return err
				}
			}
		case "esds":
			if err := e.readESDS(content); err != nil {
				return err
			}
		case "enda":
			e.little = len(content) >= 2 && content[1] == 1
		case "alac", "dOps", "dfLa", "pcmC":
			e.boxes[kind] = content
		}
	}
	return nil
}

// Descriptors of an esds. ISO/IEC 14496-1, 7.2.6.
const (
	tagES      = 3
	tagDecoder = 4
	tagConfig  = 5
)

// readESDS takes what the samples are and the configuration of their decoder.
func (e *entry) readESDS(p []byte) error {
	if len(p) < 4 {
		return errShort
	}
	es, ok := descriptor(p[4:], tagES)
	if !ok || len(es) < 3 {
		return fmt.Errorf("%w: esds without a stream", ErrFormat)
	}
	flags := es[2]
	skip := 3
	if flags&0x80 != 0 {
		skip += 2 // a stream it depends on
	}
	if flags&0x40 != 0 && len(es) > skip {
		skip += 1 + int(es[skip]) // an address
	}
	if flags&0x20 != 0 {
		skip += 2 // a clock
	}
	d, ok := descriptor(es[min(skip, len(es)):], tagDecoder)
	if !ok || len(d) < 13 {
		return fmt.Errorf("%w: esds without a decoder", ErrFormat)
	}
	e.object = d[0]
	e.config, _ = descriptor(d[13:], tagConfig)
	return nil
}

// descriptor returns the content of the first descriptor in p with a tag. A
// length has seven bits in each of up to four bytes. One that is too long ends
// with p.
func descriptor(p []byte, tag byte) ([]byte, bool) {
	for len(p) >= 2 {
		t, n := p[0], 0
		p = p[1:]
		for i := 0; i < 4 && len(p) > 0; i++ {
			b := p[0]
			p = p[1:]
			n = n<<7 | int(b&0x7f)
			if b&0x80 == 0 {
				break
			}
		}
		n = min(n, len(p))
		if t == tag {
			return p[:n], true
		}
		p = p[n:]
	}
	return nil, false
}

// opusHead returns a dOps box as the header of Ogg Opus, which has the same
// fields in the other byte order.
//
// Encapsulation of Opus in ISO Base Media File Format, 4.3.2; RFC 7845, 5.1.
func opusHead(dops []byte) ([]byte, error) {
	if len(dops) < 11 || dops[0] != 0 {
		return nil, fmt.Errorf("%w: dOps", ErrFormat)
	}
	h := append([]byte("OpusHead"), dops...)
	h[8] = 1
	p := h[8:]
	binary.LittleEndian.PutUint16(p[2:], be.Uint16(dops[2:]))
	binary.LittleEndian.PutUint32(p[4:], be.Uint32(dops[4:]))
	binary.LittleEndian.PutUint16(p[8:], be.Uint16(dops[8:]))
	return h, nil
}

// streamInfo returns the STREAMINFO block in a dfLa box, without its header.
//
// Encapsulation of FLAC in ISO Base Media File Format, 3.3.2.
func streamInfo(dfla []byte) ([]byte, error) {
	const size = 34
	if len(dfla) < 8+size || dfla[4]&0x7f != 0 || be.Uint32(dfla[4:])&0xffffff != size {
		return nil, fmt.Errorf("%w: dfLa", ErrFormat)
	}
	return dfla[8 : 8+size], nil
}
