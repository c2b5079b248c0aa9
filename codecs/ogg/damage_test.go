package ogg_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"testing"

	"quern/codecs/ogg"
	"quern/codecs/opus"
)

// pageFrames is how many frames of samples a page of an ogg.OpusWriter holds.
const pageFrames = 20 * opus.FrameSize

// speech is an Opus file of so many seconds, and its pages.
func speech(t *testing.T, seconds int) (b []byte, pages [][]byte) {
	t.Helper()
	var out bytes.Buffer
	w, err := ogg.NewOpusWriter(&out, 48000, 1, 24000, opus.Audio)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 48000*seconds)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)/40)) / 2
	}
	if err := w.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), split(out.Bytes())
}

// split returns the pages of b.
func split(b []byte) (pages [][]byte) {
	for len(b) > 0 {
		n := 27 + int(b[26])
		for _, l := range b[27:n] {
			n += int(l)
		}
		pages = append(pages, b[:n:n])
		b = b[n:]
	}
	return pages
}

// TestHoles: that pages are missing is told, and silence stands for them where bytes were
// passed over and the position of the page behind tells how much they held.
func TestHoles(t *testing.T) {
	b, pages := speech(t, 4)
	_, whole := decode(t, b)
	if len(whole) != 4*48000 || len(pages) < 12 {
		t.Fatalf("%d frames on %d pages", len(whole), len(pages))
	}
	end := len(pages) - 1
	empty := func() []byte { // the end of the stream on a page of its own
		return bytes.Clone(split(lastPage(t, pages))[0])
	}
	for _, tt := range []struct {
		name    string
		damaged []int // pages with a wrong checksum
		gone    []int // pages that are not there
		behind  [][]byte
		frames  int
		lost    int64
		some    bool
		cut     bool
	}{
		{name: "whole", frames: len(whole)},
		{name: "a page", damaged: []int{5}, frames: len(whole), lost: pageFrames, some: true},
		{name: "two pages in a row", damaged: []int{5, 6}, frames: len(whole), lost: 2 * pageFrames, some: true},
		{name: "two pages apart", damaged: []int{4, 8}, frames: len(whole), lost: 2 * pageFrames, some: true},
		{name: "the first with sound", damaged: []int{2}, frames: len(whole), lost: pageFrames, some: true},
		{name: "the last", damaged: []int{end}, frames: (end-2)*pageFrames - preSkip(pages[0]), cut: true},
		{name: "a page that is not there", gone: []int{5}, frames: len(whole) - pageFrames, some: true},
		{name: "joined in the middle", gone: []int{2, 3, 4, 5}, frames: len(whole) - 4*pageFrames},
		{name: "the last, before an empty one", damaged: []int{end}, behind: [][]byte{empty()}, frames: (end-2)*pageFrames - preSkip(pages[0]), some: true},
		{name: "the last, before another stream", damaged: []int{end}, behind: [][]byte{again(b)}, frames: (end-2)*pageFrames - preSkip(pages[0]) + len(whole), some: true},
		{name: "another stream without its first page", behind: [][]byte{spoil(again(b))}, frames: len(whole), some: true},
	} {
		var file []byte
		for i, p := range pages {
			switch p = bytes.Clone(p); {
			case slices.Contains(tt.gone, i):
				continue
			case slices.Contains(tt.damaged, i):
				p = spoil(p)
			}
			file = append(file, p...)
		}
		d, got := decode(t, slices.Concat(append([][]byte{file}, tt.behind...)...))
		lost, some := d.Lost()
		if len(got) != tt.frames || lost != tt.lost || some != tt.some || d.Cut() != tt.cut {
			t.Errorf("%s: %d frames, %d lost, %v, cut %v; want %d, %d, %v, %v", tt.name, len(got), lost, some, d.Cut(), tt.frames, tt.lost, tt.some, tt.cut)
		}
	}
}

// TestManyDamaged: a stream with more damaged pages than are looked at ends there.
func TestManyDamaged(t *testing.T) {
	_, pages := speech(t, 4)
	head := append([]byte("OggS"), make([]byte, 23)...) // an empty page without a checksum
	head[22] = 1
	file := slices.Concat(slices.Concat(pages[:6]...), bytes.Repeat(head, 5000), slices.Concat(pages[6:]...))
	d, got := decode(t, file)
	if want := 4*pageFrames - preSkip(pages[0]); len(got) != want || !d.Cut() {
		t.Errorf("%d frames, cut %v; want %d", len(got), d.Cut(), want)
	}
}

// spoil makes the checksum of a page wrong.
func spoil(page []byte) []byte {
	page[len(page)-1] ^= 1
	if n := 28 + int(page[27]); n < len(page) { // the first of several
		page[n-1] ^= 1
	}
	return page
}

// preSkip is the number of frames that the first page has dropped.
func preSkip(page []byte) int { return int(binary.LittleEndian.Uint16(page[28+10:])) }

// lastPage is an empty page that ends the stream behind pages.
func lastPage(t *testing.T, pages [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ogg.NewWriter(&out, binary.LittleEndian.Uint32(pages[0][14:]))
	for range pages {
		if err := w.WritePacket([]byte("x"), 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	n := out.Len()
	if err := w.Close(int64(4 * 48000)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()[n:]
}

// again is a stream like b, with another serial number.
func again(b []byte) []byte {
	var out bytes.Buffer
	w := ogg.NewWriter(&out, binary.LittleEndian.Uint32(b[14:])+1)
	for _, p := range split(b) {
		body, granule := p[27+int(p[26]):], int64(binary.LittleEndian.Uint64(p[6:]))
		n := 0
		for _, l := range p[27 : 27+int(p[26])] {
			if n += int(l); l < 255 {
				w.WritePacket(body[:n], granule)
				body, n = body[n:], 0
			}
		}
		if p[5]&4 != 0 {
			w.Close(granule)
		} else {
			w.Flush()
		}
	}
	return out.Bytes()
}

// TestHoleWithinPacket: what is left of packets of which a page is missing is dropped.
func TestHoleWithinPacket(t *testing.T) {
	const count = 300
	enc, err := opus.NewEncoder(2, 360000, opus.Audio)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := ogg.NewWriter(&out, 7)
	for _, header := range [][]byte{opus.Head{Channels: 2, InputRate: 48000}.Append(nil), []byte("OpusTags\x00\x00\x00\x00\x00\x00\x00\x00")} {
		w.WritePacket(header, 0)
		w.Flush()
	}
	x := make([]float32, 2*opus.FrameSize)
	for i := range x {
		x[i] = float32(i*i*7919%65536)/65536 - .5
	}
	for i := range count {
		packet, err := enc.Encode(nil, x)
		if err != nil || len(packet) < 500 {
			t.Fatalf("a packet of %d bytes: %v", len(packet), err)
		}
		w.WritePacket(packet, int64(i+1)*opus.FrameSize)
	}
	if err := w.Close(count * opus.FrameSize); err != nil {
		t.Fatal(err)
	}
	pages := split(out.Bytes())
	at := 3 // a page with packets that go on from the one before, and behind it
	for at < len(pages)-1 && pages[at][5]&pages[at+1][5]&1 == 0 {
		at++
	}
	if at == len(pages)-1 {
		t.Fatalf("none of %d pages has packets on both sides", len(pages))
	}
	before := int64(binary.LittleEndian.Uint64(pages[at-1][6:])) / opus.FrameSize // packets that end before the page
	through := int64(binary.LittleEndian.Uint64(pages[at][6:])) / opus.FrameSize
	want := (through + 1 - before) * opus.FrameSize // the last one goes on behind it
	pages[at][100] ^= 1
	d, err := ogg.NewReader(io.MultiReader(bytes.NewReader(out.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	buf, n := make([]float32, 4096), 0
	for err == nil {
		var k int
		k, err = d.Read(buf)
		n += k
	}
	if lost, some := d.Lost(); err != io.EOF || n != 2*count*opus.FrameSize || lost != want || !some {
		t.Errorf("%d values, %v, %d frames lost, %v; want %d and %d", n, err, lost, some, 2*count*opus.FrameSize, want)
	}
}
