package mp4

import "quern/codecs/aac"

// A builder appends boxes and what is in them.
type builder []byte

func (b *builder) u8(v ...byte)  { *b = append(*b, v...) }
func (b *builder) u16(v uint16)  { *b = be.AppendUint16(*b, v) }
func (b *builder) u32(v uint32)  { *b = be.AppendUint32(*b, v) }
func (b *builder) u64(v uint64)  { *b = be.AppendUint64(*b, v) }
func (b *builder) zeros(n int)   { *b = append(*b, make([]byte, n)...) }
func (b *builder) text(s string) { *b = append(*b, s...) }

// open begins a box, which close ends.
func (b *builder) open(kind string) int {
	at := len(*b)
	b.u32(0)
	b.text(kind)
	return at
}

// full begins a box with a version and flags.
func (b *builder) full(kind string, version byte, flags uint32) int {
	at := b.open(kind)
	b.u32(uint32(version)<<24 | flags)
	return at
}

func (b *builder) close(at int) { be.PutUint32((*b)[at:], uint32(len(*b)-at)) }

// fileType writes ftyp: what can be played by readers of iTunes' files and of the base
// format, with fragments.
func (b *builder) fileType() {
	at := b.open("ftyp")
	b.text("M4A ")
	b.u32(0)
	b.text("M4A mp42isomiso5")
	b.close(at)
}

// matrix is that of what is not turned, of mvhd and tkhd.
func (b *builder) matrix() {
	for _, v := range [9]uint32{1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30} {
		b.u32(v)
	}
}

const trackID = 1

// header writes moov. offset is where the units of a plain file begin. Times are in
// samples, of the movie as of the track. The edit list leaves out the encoder's delay, and in
// a plain file what lies behind the end.
//
// ISO/IEC 14496-12, 8.2 to 8.8.
func (m *Writer) header(offset uint32) {
	b := &m.buf
	length := uint64(m.Frames()) // 0 in a file in fragments, when it is not known
	moov := b.open("moov")
	mvhd := b.full("mvhd", 1, 0)
	b.zeros(16) // made and changed: not told, so that the same sound is the same file
	b.u32(uint32(m.rate))
	b.u64(length)
	b.u32(1 << 16) // speed
	b.u16(1 << 8)  // volume
	b.zeros(10)
	b.matrix()
	b.zeros(24)
	b.u32(trackID + 1) // next
	b.close(mvhd)

	trak := b.open("trak")
	tkhd := b.full("tkhd", 1, 7) // enabled, in the movie, in its preview
	b.zeros(16)
	b.u32(trackID)
	b.zeros(4)
	b.u64(length)
	b.zeros(8 + 4)
	b.u16(1 << 8)
	b.zeros(2)
	b.matrix()
	b.zeros(8)
	b.close(tkhd)
	edts := b.open("edts")
	elst := b.full("elst", 1, 0)
	b.u32(1)
	b.u64(length) // 0: to the end
	b.u64(aac.EncoderDelay)
	b.u32(1 << 16)
	b.close(elst)
	b.close(edts)
	m.media(offset)
	b.close(trak)

	if m.fragmented {
		mvex := b.open("mvex")
		trex := b.full("trex", 0, 0)
		for _, v := range [5]uint32{trackID, 1, unitFrames, 0, 0} { // description, duration, size, flags
			b.u32(v)
		}
		b.close(trex)
		b.close(mvex)
	}
	b.close(moov)
}

// media writes mdia.
func (m *Writer) media(offset uint32) {
	b := &m.buf
	mdia := b.open("mdia")
	mdhd := b.full("mdhd", 1, 0)
	b.zeros(16)
	b.u32(uint32(m.rate))
	if len(m.sizes) > 0 {
		b.u64(uint64(m.Frames()) + aac.EncoderDelay)
	} else {
		b.u64(0)
	}
	b.u16(('u'-0x60)<<10 | ('n'-0x60)<<5 | ('d' - 0x60)) // language: undetermined
	b.u16(0)
	b.close(mdhd)
	hdlr := b.full("hdlr", 0, 0)
	b.zeros(4)
	b.text("soun")
	b.zeros(12)
	b.text("sound\x00")
	b.close(hdlr)
	minf := b.open("minf")
	smhd := b.full("smhd", 0, 0)
	b.zeros(4) // balance
	b.close(smhd)
	dinf := b.open("dinf")
	dref := b.full("dref", 0, 0)
	b.u32(1)
	b.close(b.full("url ", 0, 1)) // in this file
	b.close(dref)
	b.close(dinf)
	m.table(offset)
	b.close(minf)
	b.close(mdia)
}

// table writes stbl: one chunk with all units, or none.
func (m *Writer) table(offset uint32) {
	b := &m.buf
	n := uint32(len(m.sizes))
	stbl := b.open("stbl")
	stsd := b.full("stsd", 0, 0)
	b.u32(1)
	m.description()
	b.close(stsd)

	stts := b.full("stts", 0, 0) // durations
	if n == 0 {
		b.u32(0)
	} else {
		b.u32(2)
		b.u32(n - 1)
		b.u32(unitFrames)
		b.u32(1)
		b.u32(m.lastDuration(uint64(n)))
	}
	b.close(stts)
	chunks := min(n, 1)
	stsc := b.full("stsc", 0, 0) // units of chunks
	b.u32(chunks)
	if n > 0 {
		b.u32(1)
		b.u32(n)
		b.u32(1)
	}
	b.close(stsc)
	stsz := b.full("stsz", 0, 0) // sizes
	b.u32(0)
	b.u32(n)
	for _, size := range m.sizes {
		b.u32(size)
	}
	b.close(stsz)
	stco := b.full("stco", 0, 0) // where chunks begin
	b.u32(chunks)
	if n > 0 {
		b.u32(offset)
	}
	b.close(stco)
	b.close(stbl)
}

// description writes mp4a with its esds.
//
// ISO/IEC 14496-14, 5.6; ISO/IEC 14496-1, 7.2.6.
func (m *Writer) description() {
	const (
		objectAAC   = 0x40
		streamAudio = 5<<2 | 1
		tagSync     = 6
		bufferBytes = 768 // of a channel
	)
	b := &m.buf
	mp4a := b.open("mp4a")
	b.zeros(6)
	b.u16(1) // of the data references
	b.zeros(8)
	b.u16(uint16(m.channels))
	b.u16(16) // bits of a sample
	b.zeros(4)
	if m.rate < 1<<16 {
		b.u32(uint32(m.rate) << 16)
	} else {
		b.u32(0) // the configuration has it
	}
	esds := b.full("esds", 0, 0)
	config := m.Config()
	decoder := 13 + 2 + len(config)
	b.u8(tagES, byte(3+2+decoder+3), 0, 0, 0) // no number, no flags
	b.u8(tagDecoder, byte(decoder), objectAAC, streamAudio)
	b.u8(0)
	b.u16(uint16(bufferBytes * m.channels))
	b.u32(uint32(m.bitrate + 8*bufferBytes*m.channels)) // at most, in a second
	b.u32(uint32(m.bitrate))
	b.u8(tagConfig, byte(len(config)))
	b.u8(config...)
	b.u8(tagSync, 1, 2)
	b.close(esds)
	b.close(mp4a)
}
