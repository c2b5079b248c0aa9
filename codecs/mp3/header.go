package mp3

import (
	"encoding/binary"
	"fmt"
)

// Layers and versions as the header codes them.
const (
	layer3 = 1
	layer2 = 2
	layer1 = 3

	mpeg25 = 0
	mpeg2  = 2
	mpeg1  = 3
)

const (
	modeStereo = 0
	modeJoint  = 1
	modeDual   = 2
	modeMono   = 3
)

// header is the first four bytes of a frame.
type header uint32

func (h header) version() int  { return int(h >> 19 & 3) }
func (h header) layer() int    { return int(h >> 17 & 3) }
func (h header) crc() bool     { return h>>16&1 == 0 }
func (h header) kbps() int     { return int(h >> 12 & 15) } // an index; 0 is free format
func (h header) rateCode() int { return int(h >> 10 & 3) }
func (h header) padding() int  { return int(h >> 9 & 1) }
func (h header) mode() int     { return int(h >> 6 & 3) }
func (h header) ms() bool      { return h.mode() == modeJoint && h>>5&1 != 0 }
func (h header) intens() bool  { return h.mode() == modeJoint && h>>4&1 != 0 }
func (h header) lsf() bool     { return h.version() != mpeg1 }
func (h header) free() bool    { return h.kbps() == 0 }

// valid tells whether h can begin a frame at all.
func (h header) valid() bool {
	return h>>21 == 0x7FF && h.version() != 1 && h.layer() != 0 && h.kbps() != 15 && h.rateCode() != 3
}

// like tells whether h and o can be frames of one stream: same version, layer
// and rate, and both or neither of free format.
func (h header) like(o header) bool {
	const mask = 0xFFFE0C00
	return h&mask == o&mask && h.free() == o.free()
}

func (h header) rate() int {
	r := [3]int{44100, 48000, 32000}[h.rateCode()]
	switch h.version() {
	case mpeg2:
		r /= 2
	case mpeg25:
		r /= 4
	}
	return r
}

// bands is the index of the stream's rate in sfBands.
func (h header) bands() int {
	return h.rateCode() + [4]int{mpeg1: 0, mpeg2: 3, mpeg25: 6}[h.version()]
}

func (h header) channels() int {
	if h.mode() == modeMono {
		return 1
	}
	return 2
}

func (h header) granules() int {
	if h.lsf() {
		return 1
	}
	return 2
}

// side is the length of the side information in bytes.
func (h header) side() int {
	switch {
	case h.lsf() && h.channels() == 1:
		return 9
	case !h.lsf() && h.channels() == 2:
		return 32
	}
	return 17
}

// head is the number of bytes before the main data.
func (h header) head() int {
	n := 4 + h.side()
	if h.crc() {
		n += 2
	}
	return n
}

// size is the length of the frame in bytes; free is that of a frame of free
// format without padding.
func (h header) size(free int) int {
	slot := 1
	if h.layer() == layer1 {
		slot = 4
	}
	if h.free() {
		return free + h.padding()*slot
	}
	v := 0
	if h.lsf() {
		v = 1
	}
	bps := 1000 * kbpsTable[v][h.layer()-1][h.kbps()]
	switch {
	case h.layer() == layer1:
		return (12*bps/h.rate() + h.padding()) * 4
	case h.layer() == layer3 && h.lsf():
		return 72*bps/h.rate() + h.padding()
	}
	return 144*bps/h.rate() + h.padding()
}

// unsupported is the error for a stream of layer I or II.
func (h header) unsupported() error {
	return fmt.Errorf("%w: layer %s, only layer III is read", ErrUnsupported, [4]string{"", "III", "II", "I"}[h.layer()])
}

func headerOf(b []byte) header { return header(binary.BigEndian.Uint32(b)) }
