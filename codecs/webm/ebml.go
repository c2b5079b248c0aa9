package webm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
)

// Element IDs: RFC 8794, section 17, and RFC 9559, section 27.
const (
	idEBML            = 0x1a45dfa3
	idDocType         = 0x4282
	idSegment         = 0x18538067
	idInfo            = 0x1549a966
	idTimestampScale  = 0x2ad7b1
	idDuration        = 0x4489
	idTracks          = 0x1654ae6b
	idTrackEntry      = 0xae
	idTrackNumber     = 0xd7
	idTrackType       = 0x83
	idFlagEnabled     = 0xb9
	idFlagDefault     = 0x88
	idCodecID         = 0x86
	idCodecPrivate    = 0x63a2
	idCodecDelay      = 0x56aa
	idAudio           = 0xe1
	idSamplingRate    = 0xb5
	idChannels        = 0x9f
	idBitDepth        = 0x6264
	idEncodings       = 0x6d80
	idEncoding        = 0x6240
	idEncodingType    = 0x5033
	idCompression     = 0x5034
	idCompAlgo        = 0x4254
	idCompSettings    = 0x4255
	idCluster         = 0x1f43b675
	idSimpleBlock     = 0xa3
	idBlockGroup      = 0xa0
	idBlock           = 0xa1
	idDiscardPadding  = 0x75a2
	unknown           = math.MaxUint64 // size of an element that ends where the next begins
	maxHeader         = 16 << 20       // bytes of a Tracks or Info element
	maxBlock          = 4 << 20        // bytes of a block; larger ones are no audio
	maxVint           = 8
	trackTypeAudio    = 2
	compressionStrip  = 3
	encodingCompress  = 0
	defaultNanoPerTic = 1_000_000
)

// vint reads a number whose first byte says by leading zeros how long it is,
// and returns that length, 0 when b is too short or no such number. IDs keep
// the bit that ends the zeros. RFC 8794, section 4.
func vint(b []byte, id bool) (v uint64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	n = 1
	for b[0]<<(n-1)&0x80 == 0 {
		n++
	}
	if n > len(b) {
		return 0, 0
	}
	v = uint64(b[0])
	if !id {
		v &= 1<<(8-n) - 1
	}
	for _, c := range b[1:n] {
		v = v<<8 | uint64(c)
	}
	if !id && v == 1<<(7*n)-1 {
		v = unknown
	}
	return v, n
}

// header reads the ID and size of the next element of r.
func header(r *bufio.Reader) (id, size uint64, err error) {
	for i, v := range []*uint64{&id, &size} {
		b, err := r.Peek(maxVint)
		if len(b) == 0 {
			return 0, 0, err
		}
		n := 0
		if *v, n = vint(b, i == 0); n == 0 || i == 0 && n > 4 {
			if err != nil {
				return 0, 0, io.EOF // cut off
			}
			return 0, 0, fmt.Errorf("%w: no element where one should begin", ErrFormat)
		}
		if _, err := r.Discard(n); err != nil {
			return 0, 0, err
		}
	}
	return id, size, nil
}

// findCluster passes over the bytes of r up to the next cluster.
func findCluster(r *bufio.Reader) error {
	for {
		b, err := r.Peek(4)
		if err != nil {
			return err
		}
		if unsigned(b) == idCluster {
			return nil
		}
		b, _ = r.Peek(r.Buffered())
		n := bytes.IndexByte(b[1:], idCluster>>24)
		if n < 0 {
			n = len(b) - 1
		}
		if _, err := r.Discard(1 + n); err != nil {
			return err
		}
	}
}

// skip passes over size bytes of r.
func skip(r *bufio.Reader, size uint64) error {
	if size > math.MaxInt64 {
		return fmt.Errorf("%w: an element of unknown size that must have one", ErrFormat)
	}
	_, err := io.CopyN(io.Discard, r, int64(size))
	return err
}

// children calls f for every element in b, the body of a master element. What
// is cut off at the end is left out.
func children(b []byte, f func(id uint64, body []byte) error) error {
	for len(b) > 0 {
		id, n := vint(b, true)
		size, m := vint(b[n:], false)
		if n == 0 || m == 0 || size > uint64(len(b)-n-m) {
			return nil
		}
		if err := f(id, b[n+m:n+m+int(size)]); err != nil {
			return err
		}
		b = b[n+m+int(size):]
	}
	return nil
}

func unsigned(b []byte) uint64 {
	var v uint64
	for _, c := range b[:min(len(b), 8)] {
		v = v<<8 | uint64(c)
	}
	return v
}

func signed(b []byte) int64 {
	if len(b) == 0 {
		return 0
	}
	n := min(len(b), 8)
	return int64(unsigned(b)<<(64-8*n)) >> (64 - 8*n)
}

func float(b []byte) float64 {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(uint32(unsigned(b))))
	case 8:
		return math.Float64frombits(unsigned(b))
	}
	return 0
}

// unlace splits the frames of a block: RFC 9559, section 10.3. flags is the
// last byte of the block's header, b what follows.
func unlace(frames [][]byte, b []byte, flags byte) ([][]byte, error) {
	lacing := flags >> 1 & 3
	if lacing == 0 {
		return append(frames, b), nil
	}
	if len(b) == 0 {
		return frames, fmt.Errorf("%w: empty lace", ErrFormat)
	}
	count := int(b[0]) + 1
	b = b[1:]
	var sizes [256]int
	total := 0
	for i := range count - 1 {
		size := 0
		switch lacing {
		case 1: // Xiph
			for more := true; more; {
				if len(b) == 0 {
					return frames, fmt.Errorf("%w: the sizes of a lace are cut off", ErrFormat)
				}
				size += int(b[0])
				more = b[0] == 255
				b = b[1:]
			}
		case 2: // fixed
			size = len(b) / count
		case 3: // EBML: the first size, then differences
			v, n := vint(b, false)
			if n == 0 || v == unknown || v > maxBlock {
				return frames, fmt.Errorf("%w: the sizes of a lace are cut off", ErrFormat)
			}
			b = b[n:]
			size = int(v)
			if i > 0 {
				size = sizes[i-1] + int(v) - (1<<(7*n-1) - 1)
			}
		}
		if size < 0 {
			return frames, fmt.Errorf("%w: a frame of negative size", ErrFormat)
		}
		sizes[i] = size
		total += size
	}
	if total > len(b) {
		return frames, fmt.Errorf("%w: a lace longer than its block", ErrFormat)
	}
	for _, size := range sizes[:count-1] {
		frames = append(frames, b[:size])
		b = b[size:]
	}
	return append(frames, b), nil
}
