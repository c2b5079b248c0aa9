package mp4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// bytesOf writes numbers big-endian by their types, and bytes and strings as
// they are.
func bytesOf(parts ...any) []byte {
	var p []byte
	for _, v := range parts {
		switch v := v.(type) {
		case []byte:
			p = append(p, v...)
		case string:
			p = append(p, v...)
		default:
			p, _ = binary.Append(p, be, v)
		}
	}
	return p
}

func boxOf(kind string, parts ...any) []byte {
	p := bytesOf(parts...)
	return bytesOf(uint32(8+len(p)), kind, p)
}

// A maker is a file with one track of sound. Its zero value is a track of
// 16-bit PCM, mono, at 1000 Hz.
type maker struct {
	kind     string
	channels int
	bits     int
	version  int // of the sound description
	details  []byte
	handler  string
	disabled bool
	elst     []byte
	extra    []byte // in moov
	last     bool   // moov behind mdat

	sizes  func(samples [][]byte) []byte // stsz or stz2
	wide   bool                          // co64
	chunks []int                         // samples of each; one of all if nil
}

func (m maker) entry() []byte {
	kind, channels, bits := m.kind, m.channels, m.bits
	if kind == "" {
		kind = "twos"
	}
	if channels == 0 {
		channels = 1
	}
	if bits == 0 {
		bits = 16
	}
	p := bytesOf(make([]byte, 6), uint16(1), uint16(m.version), make([]byte, 6),
		uint16(channels), uint16(bits), make([]byte, 4), uint32(1000<<16))
	if m.version == 1 {
		p = append(p, make([]byte, 16)...)
	}
	return boxOf(kind, p, m.details)
}

// track is the box trak, with offsets of chunks that begin at base.
func (m maker) track(base int, samples [][]byte) []byte {
	handler := m.handler
	if handler == "" {
		handler = "soun"
	}
	enabled := byte(1)
	if m.disabled {
		enabled = 0
	}
	sizes := m.sizes
	if sizes == nil {
		sizes = plainSizes
	}
	chunks := m.chunks
	if chunks == nil {
		chunks = []int{len(samples)}
	}
	var stsc, stco []byte
	i, off := 0, base
	for c, n := range chunks {
		stsc = append(stsc, bytesOf(uint32(c+1), uint32(n), uint32(1))...)
		if m.wide {
			stco = append(stco, bytesOf(uint64(off))...)
		} else {
			stco = append(stco, bytesOf(uint32(off))...)
		}
		for range n {
			off += len(samples[i])
			i++
		}
	}
	offsets := "stco"
	if m.wide {
		offsets = "co64"
	}
	var edts []byte
	if m.elst != nil {
		edts = boxOf("edts", boxOf("elst", m.elst))
	}
	return boxOf("trak",
		boxOf("tkhd", []byte{0, 0, 0, enabled}, make([]byte, 8), uint32(7), make([]byte, 68)),
		edts,
		boxOf("mdia",
			boxOf("mdhd", make([]byte, 12), uint32(1000), uint32(len(samples)), uint32(0)),
			boxOf("hdlr", make([]byte, 8), handler, make([]byte, 13)),
			boxOf("minf", boxOf("stbl",
				boxOf("stsd", uint32(0), uint32(1), m.entry()),
				sizes(samples),
				boxOf("stsc", uint32(0), uint32(len(chunks)), stsc),
				boxOf(offsets, uint32(0), uint32(len(chunks)), stco)))))
}

func plainSizes(samples [][]byte) []byte {
	var p []byte
	for _, s := range samples {
		p = append(p, bytesOf(uint32(len(s)))...)
	}
	return boxOf("stsz", uint32(0), uint32(0), uint32(len(samples)), p)
}

// file is the whole file.
func (m maker) file(samples ...[]byte) []byte {
	ftyp := boxOf("ftyp", "isom", uint32(0))
	mdat := boxOf("mdat", slices.Concat(samples...))
	moov := func(base int) []byte {
		return boxOf("moov", boxOf("mvhd", make([]byte, 12), uint32(100), uint32(0), make([]byte, 80)),
			m.track(base, samples), m.extra)
	}
	if m.last {
		return slices.Concat(ftyp, mdat, moov(len(ftyp)+8))
	}
	n := len(ftyp) + len(moov(0)) + 8
	return slices.Concat(ftyp, moov(n), mdat)
}

// ramp is n samples of two bytes, of which sample i has the value 100·i.
func ramp(n int) [][]byte {
	p := make([][]byte, n)
	for i := range p {
		p[i] = bytesOf(int16(100 * i))
	}
	return p
}

// play decodes a file to its end.
func play(data []byte) ([]float32, *Reader, error) {
	r, err := NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	var pcm []float32
	buf := make([]float32, 1000)
	for {
		n, err := r.Read(buf)
		pcm = append(pcm, buf[:n]...)
		if err == io.EOF {
			return pcm, r, nil
		}
		if err != nil {
			return pcm, r, err
		}
	}
}

// steps are the numbers of the ramp in pcm.
func steps(pcm []float32) []int {
	p := make([]int, len(pcm))
	for i, v := range pcm {
		p[i] = int(math.Round(float64(v) * 32768 / 100))
	}
	return p
}

// upTo lists the numbers from a up to b.
func upTo(a, b int) []int {
	var p []int
	for ; a < b; a++ {
		p = append(p, a)
	}
	return p
}

// wantSteps plays data, which has to hold these steps of the ramp.
func wantSteps(t *testing.T, data []byte, want []int) {
	t.Helper()
	pcm, _, err := play(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(pcm); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// wantError opens data, which has to be refused.
func wantError(t *testing.T, data []byte, sentinel error, text string) {
	t.Helper()
	_, _, err := play(data)
	if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %v with %q", err, sentinel, text)
	}
}
