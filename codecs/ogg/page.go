// Package ogg reads and writes the Ogg container (RFC 3533) and decodes the
// Opus, Vorbis and FLAC streams in it.
package ogg

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/bits"

	"quern/codecs/internal/fault"
)

var (
	// ErrFormat is wrapped by every error about malformed data.
	ErrFormat = fault.Malformed("Ogg")

	// ErrUnsupported is wrapped by every error about a valid stream that this
	// package does not decode.
	ErrUnsupported = fault.Unsupported("Ogg")
)

const (
	magic      = "OggS"
	headerSize = 27
	maxPage    = headerSize + 255 + 255*255
)

// Flags of a page: RFC 3533, section 6.
const (
	flagContinued = 1 << iota
	flagFirst
	flagLast
)

// page is one page; its slices are valid until the next one is read.
type page struct {
	flags   byte
	granule int64
	serial  uint32
	number  uint32 // among those of its stream
	passed  int64  // bytes before it that belong to no page
	lacing  []byte
	body    []byte
}

// maxDamaged bounds the pages with a wrong checksum in one stream, which ends with the
// next one. Every one costs a checksum over up to 64 KB and moves the reader by one byte only.
const maxDamaged = 4096

// pageReader finds pages, skipping whatever lies between them and pages whose
// checksum is wrong.
type pageReader struct {
	r       *bufio.Reader
	damaged int
	passed  int64 // bytes since the last page
}

func newPageReader(r io.Reader) pageReader {
	return pageReader{r: bufio.NewReaderSize(r, 2*maxPage)}
}

// next returns the next page that is whole, or io.EOF.
func (p *pageReader) next() (page, error) {
	for {
		head, err := p.r.Peek(headerSize)
		if err != nil {
			return page{}, err // a few bytes at the end are no page
		}
		if string(head[:4]) != magic || head[4] != 0 {
			if err := p.pass(); err != nil {
				return page{}, err
			}
			continue
		}
		n := headerSize + int(head[26])
		if head, err = p.r.Peek(n); err != nil {
			return page{}, err
		}
		for _, l := range head[headerSize:] {
			n += int(l)
		}
		all, err := p.r.Peek(n)
		if err != nil && err != io.EOF {
			return page{}, err
		}
		if len(all) < n || checksum(all) != binary.LittleEndian.Uint32(all[22:]) {
			if p.damaged++; p.damaged > maxDamaged {
				return page{}, io.EOF
			}
			if err := p.pass(); err != nil {
				return page{}, err
			}
			continue
		}
		passed := p.passed
		p.passed = 0
		lacing := all[headerSize : headerSize+int(all[26])]
		// The bytes of a Peek stay valid until the next read, not the next
		// Discard, of the same reader.
		if _, err := p.r.Discard(n); err != nil {
			return page{}, err
		}
		return page{
			flags:   all[5],
			granule: int64(binary.LittleEndian.Uint64(all[6:])),
			serial:  binary.LittleEndian.Uint32(all[14:]),
			number:  binary.LittleEndian.Uint32(all[18:]),
			passed:  passed,
			lacing:  lacing,
			body:    all[headerSize+len(lacing):],
		}, nil
	}
}

// pass goes on by a byte that belongs to no page.
func (p *pageReader) pass() error {
	p.passed++
	_, err := p.r.Discard(1)
	return err
}

// checksum returns the CRC of a page, its checksum field counted as zero:
// polynomial 0x04c11db7, most significant bit first, no inversion.
func checksum(page []byte) uint32 {
	var zero [4]byte
	crc := crcUpdate(0, page[:22])
	crc = crcUpdate(crc, zero[:])
	return crcUpdate(crc, page[26:])
}

// crcUpdate is the bit-reversed twin of crc32.Update with the IEEE polynomial,
// which is fast: Ogg's CRC of x is that of x with the bits of each byte
// reversed, reversed.
func crcUpdate(crc uint32, b []byte) uint32 {
	var rev [512]byte
	state := ^bits.Reverse32(crc)
	for len(b) > 0 {
		n := min(len(b), len(rev))
		for i, v := range b[:n] {
			rev[i] = bits.Reverse8(v)
		}
		state = crc32.Update(state, crc32.IEEETable, rev[:n])
		b = b[n:]
	}
	return bits.Reverse32(^state)
}
