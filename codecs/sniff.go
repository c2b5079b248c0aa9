package codecs

import (
	"bufio"
	"bytes"
	"strings"
	"unicode/utf8"
)

// headSize is how much of the input is looked at to find out what it is: some
// files begin with junk before the first frame.
const headSize = 1 << 16

// skipTags passes over ID3v2 tags, of which careless programs write several. It
// reports whether there was one.
func skipTags(r *bufio.Reader) (bool, error) {
	for i := range 8 {
		b, _ := r.Peek(10)
		if len(b) < 10 || string(b[:3]) != "ID3" {
			return i > 0, nil
		}
		// Sizes have seven bits a byte: id3.org, "ID3 tag version 2.4.0", 3.1.
		size := int(b[6]&127)<<21 | int(b[7]&127)<<14 | int(b[8]&127)<<7 | int(b[9]&127)
		if b[5]&0x10 != 0 {
			size += 10 // a footer
		}
		if _, err := r.Discard(10 + size); err != nil {
			return true, err
		}
	}
	return true, nil
}

// early returns the format that the first bytes tell, or nil: who sends sound while it is
// made should not have to send headSize of it first.
func early(r *bufio.Reader) *format {
	for _, n := range []int{16, 4 << 10} {
		b, err := r.Peek(n)
		if err != nil {
			return nil
		}
		for i := range formats {
			f := &formats[i]
			switch {
			case f.frame == nil && f.match(b):
				return f
			case f.frame == nil:
			default:
				if n := f.frame(b); n > 0 && n < len(b) && f.frame(b[n:]) != 0 {
					return f
				}
			}
		}
	}
	return nil
}

// NeedsWhole reports whether an input with these first bytes is decoded only when all of it
// is there: MP4 may have its index at the end.
func NeedsWhole(head []byte) bool { return isMP4(head) }

// recognise returns the format of an input that starts with b and where it
// begins, nil if it is none that can be decoded.
func recognise(b []byte) (*format, int) {
	for i := range formats {
		if formats[i].match(b) {
			return &formats[i], 0
		}
	}
	if known(b) != "" {
		return nil, 0
	}
	// Frames of MPEG audio may come after junk. Two that follow each other are
	// no accident.
	for at := range b {
		if b[at] != 0xff {
			continue
		}
		for i := range formats {
			if f := &formats[i]; f.frame != nil && f.match(b[at:]) {
				return f, at
			}
		}
	}
	return nil, 0
}

// describe returns the error for an input that starts with b and is no format
// that can be decoded.
func describe(b []byte, tagged bool) *Error {
	found := known(b)
	switch {
	case len(b) == 0 && tagged:
		return &Error{Found: "an ID3 tag and nothing else", Kind: ErrEmpty}
	case len(b) == 0:
		return &Error{Found: "empty file", Kind: ErrEmpty}
	case found != "":
	case isText(b):
		found = textKind(b) + ", and no sound"
	case len(bytes.Trim(b, "\x00")) == 0:
		found = "a file of zeros"
	default:
		found = "unknown data"
	}
	return &Error{Found: found, Kind: ErrUnsupported}
}

func prefix(magic string) func([]byte) bool {
	return func(b []byte) bool { return len(b) >= len(magic) && string(b[:len(magic)]) == magic }
}

// at reports whether b has s at an offset.
func at(b []byte, offset int, s string) bool {
	return len(b) >= offset+len(s) && string(b[offset:offset+len(s)]) == s
}

func isWAV(b []byte) bool {
	for _, magic := range []string{"RIFF", "RIFX", "RF64", "BW64"} {
		if at(b, 0, magic) {
			return at(b, 8, "WAVE")
		}
	}
	return false
}

// isMP4 looks for a box that a file or a piece of one can begin with.
func isMP4(b []byte) bool {
	for _, kind := range []string{"ftyp", "styp", "moov", "moof", "mdat", "sidx", "free", "skip", "wide", "pnot", "uuid"} {
		if at(b, 4, kind) {
			return true
		}
	}
	return false
}

// isMP3 and isADTS look for two frames in a row, or one that is all there is.
func isMP3(b []byte) bool  { return follows(b, mpegFrame) }
func isADTS(b []byte) bool { return follows(b, adtsFrame) }

func follows(b []byte, frame func([]byte) int) bool {
	n := frame(b)
	if n == 0 {
		return false
	}
	if len(b) < headSize && n >= len(b) {
		return true
	}
	return n < len(b) && frame(b[n:]) != 0
}

// adtsFrame returns the size of the ADTS frame that b starts with, 0 if it does
// not: ISO/IEC 14496-3, 1.A.2.2.
func adtsFrame(b []byte) int {
	if len(b) < 7 || b[0] != 0xff || b[1]&0xf6 != 0xf0 || b[2]>>2&15 > 12 {
		return 0
	}
	n := int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
	if n < 7 {
		return 0
	}
	return n
}

// mpegBitrates lists kbit/s by index for layers I, II and III of MPEG-1, then
// layer I and layers II and III of MPEG-2: ISO/IEC 11172-3, 2.4.2.3, and
// 13818-3, 2.4.2.3.
var mpegBitrates = [5][15]int{
	{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
	{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
	{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
}

// mpegFrame returns the size of the MPEG audio frame, of any layer, that b
// starts with, 0 if it does not. In free format, where the header does not tell
// the size, it finds the next header.
func mpegFrame(b []byte) int {
	if len(b) < 4 || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return 0
	}
	version, layer := b[1]>>3&3, 4-int(b[1]>>1&3) // version: 3 is 1, 2 is 2, 0 is 2.5
	index, rateIndex, padding := int(b[2]>>4), int(b[2]>>2&3), int(b[2]>>1&1)
	if version == 1 || layer == 4 || index == 15 || rateIndex == 3 {
		return 0
	}
	if index == 0 {
		for n := 24; n+4 <= min(len(b), 4096); n++ {
			if b[n] == b[0] && b[n+1] == b[1] && b[n+2]&^2 == b[2]&^2 {
				return n
			}
		}
		return 0
	}
	rate := [3]int{44100, 48000, 32000}[rateIndex]
	row := layer - 1
	if version != 3 {
		rate >>= 1
		row = min(2+layer, 4)
	}
	if version == 0 {
		rate >>= 1
	}
	bitrate := 1000 * mpegBitrates[row][index]
	switch {
	case layer == 1:
		return (12*bitrate/rate + padding) * 4
	case layer == 3 && version != 3:
		return 72*bitrate/rate + padding
	}
	return 144*bitrate/rate + padding
}

// names lists by their first bytes what is not decoded.
var names = []struct{ magic, name string }{
	{"#!AMR-WB", "AMR-WB audio"},
	{"#!AMR", "AMR audio"},
	{"caff", "CAF audio"},
	{".snd", "AU audio"},
	{"riff\x2e\x91\xcf\x11", "Wave64 audio"},
	{"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "WMA or WMV (ASF)"},
	{".ra\xfd", "RealAudio"},
	{".RMF", "RealMedia"},
	{"MAC ", "Monkey's Audio"},
	{"wvpk", "WavPack audio"},
	{"TTA1", "TTA audio"},
	{"TTA2", "TTA audio"},
	{"MPCK", "Musepack audio"},
	{"MP+", "Musepack audio"},
	{"OFR ", "OptimFROG audio"},
	{"DSD ", "DSD audio"},
	{"FRM8", "DSD audio"},
	{"ADIF", "AAC audio with an ADIF header"},
	{"\x7f\xfe\x80\x01", "DTS audio"},
	{"MThd", "MIDI, which is notes and no sound"},
	{"FLV\x01", "Flash video"},
	{"\x00\x00\x01\xba", "MPEG program stream"},
	{"\x00\x00\x01\xb3", "MPEG video"},
	{"\x1f\x43\xb6\x75", "WebM without a header (a later MediaRecorder slice)"},
	{"\x89PNG\r\n", "PNG image"},
	{"\xff\xd8\xff", "JPEG image"},
	{"GIF8", "GIF image"},
	{"II*\x00", "TIFF image"},
	{"MM\x00*", "TIFF image"},
	{"%PDF", "PDF document"},
	{"PK\x03\x04", "ZIP archive"},
	{"PK\x05\x06", "ZIP archive"},
	{"\x1f\x8b", "gzip archive"},
	{"BZh", "bzip2 archive"},
	{"\xfd7zXZ\x00", "xz archive"},
	{"\x28\xb5\x2f\xfd", "zstd archive"},
	{"7z\xbc\xaf\x27\x1c", "7-Zip archive"},
	{"Rar!\x1a\x07", "RAR archive"},
	{"\x7fELF", "program"},
	{"SQLite format 3", "SQLite database"},
}

// known returns the name of what b starts with when it is not decoded, "" when
// it has none.
func known(b []byte) string {
	for _, n := range names {
		if at(b, 0, n.magic) {
			return n.name
		}
	}
	switch {
	case at(b, 0, "FORM") && (at(b, 8, "AIFF") || at(b, 8, "AIFC")):
		return "AIFF audio"
	case at(b, 0, "RIFF") && at(b, 8, "AVI "):
		return "AVI video"
	case at(b, 0, "RIFF") && at(b, 8, "WEBP"):
		return "WebP image"
	case at(b, 0, "RIFF") && at(b, 8, "RMID"):
		return "MIDI, which is notes and no sound"
	case len(b) > 5 && b[0] == 0x0b && b[1] == 0x77 && b[4]>>6 != 3 && b[5]>>3 <= 16:
		return "AC-3 audio"
	case len(b) > 376 && b[0] == 0x47 && b[188] == 0x47 && b[376] == 0x47:
		return "MPEG transport stream"
	case isSlice(b):
		return "WebM without a header (a later MediaRecorder slice)"
	case len(b) > 1 && b[0] == 0x56 && b[1]&0xe0 == 0xe0:
		return "AAC audio in LATM"
	}
	return ""
}

// isSlice reports whether b starts with a SimpleBlock element of one of the
// first tracks: Chromium cuts its slices between blocks.
func isSlice(b []byte) bool {
	if len(b) < 16 || b[0] != 0xa3 {
		return false
	}
	size := 1
	for size <= 8 && b[1]<<(size-1)&0x80 == 0 {
		size++
	}
	return size <= 8 && b[1+size] >= 0x81 && b[1+size] <= 0x84
}

// isText reports whether b, the start of a file, is text.
func isText(b []byte) bool {
	b = b[:min(len(b), 4096)]
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return len(b) < utf8.UTFMax // cut off inside a rune
		}
		if r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) {
			return false
		}
		b = b[n:]
	}
	return true
}

// textKind says what kind of text b starts with.
func textKind(b []byte) string {
	s := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(b[:min(len(b), 512)]), "\ufeff")))
	for _, k := range []struct{ prefix, name string }{
		{"<!doctype html", "an HTML page"},
		{"<html", "an HTML page"},
		{"<?xml", "an XML document"},
		{"<svg", "an SVG image"},
		{"#extm3u", "a playlist"},
		{"[playlist]", "a playlist"},
		{"{", "a JSON file"},
		{"[", "a JSON file"},
		{"data:", "a data URL"},
	} {
		if strings.HasPrefix(s, k.prefix) {
			return k.name
		}
	}
	return "a text file"
}
