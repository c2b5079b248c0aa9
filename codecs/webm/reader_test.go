package webm_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"quern/codecs/internal/audiotest"
	"quern/codecs/pcm"
	"quern/codecs/webm"
)

func decode(t *testing.T, b []byte) (*webm.Reader, []float32) {
	t.Helper()
	d, err := webm.NewReader(io.MultiReader(bytes.NewReader(b)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := audiotest.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, x
}

// reference decodes with libopus where the file is Opus: ffmpeg's own decoder
// is several dB away from it.
func reference(t *testing.T, codec, path string) []float32 {
	args := []string{"-v", "error", "-i", path, "-map", "0:a:0", "-f", "f32le", "-"}
	if codec == "Opus" {
		args = append([]string{"-c:a", "libopus"}, args...)
	}
	return audiotest.Reference(t, "ffmpeg", args...)
}

func TestFixtures(t *testing.T) {
	for _, tt := range []struct {
		name, doctype, codec string
		rate, ch, frames     int
		snr                  float64
	}{
		{"webm_opus.webm", "webm", "Opus", 48000, 1, 144000, 75},
		{"webm_live_opus.webm", "webm", "Opus", 48000, 1, 144000, 75},
		{"webm_vorbis.webm", "webm", "Vorbis", 48000, 2, 144000, 130},
		{"mka_laced.mka", "matroska", "Opus", 48000, 1, 144000, 75},
		{"mr_chrome_opus_first2.webm", "webm", "Opus", 48000, 2, 95040, 75},
		{"mr_ff_opus.webm", "webm", "Opus", 48000, 1, 304008, 200}, // silent
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := audiotest.Fixture(t, tt.name)
			d, got := decode(t, audiotest.ReadFile(t, path))
			if d.DocType() != tt.doctype || d.Codec() != tt.codec || d.Rate() != tt.rate || d.Channels() != tt.ch || len(got) != tt.frames*tt.ch {
				t.Errorf("got %s %s, %d Hz, %d channels, %d frames; want %s %s, %d, %d, %d", d.DocType(), d.Codec(), d.Rate(), d.Channels(),
					len(got)/d.Channels(), tt.doctype, tt.codec, tt.rate, tt.ch, tt.frames)
			}
			want := reference(t, tt.codec, path)
			if snr := audiotest.SNR(got, want); snr < tt.snr || len(got) != len(want) {
				t.Errorf("%d samples %.1f dB from the reference's %d, want %.0f", len(got), snr, len(want), tt.snr)
			}
		})
	}
}

func TestMade(t *testing.T) {
	src := audiotest.Fixture(t, "s48.src.wav")
	for _, tt := range []struct {
		name, codec string
		args        []string
		snr         float64
	}{
		{"s16", "PCM", []string{"-c:a", "pcm_s16le"}, 200},
		{"s24 big endian", "PCM", []string{"-c:a", "pcm_s24be"}, 200},
		{"f32", "PCM", []string{"-c:a", "pcm_f32le"}, 200},
		{"FLAC", "FLAC", []string{"-c:a", "flac"}, 200},
		{"AAC", "AAC", []string{"-c:a", "aac", "-aac_pns", "0"}, 100},
		{"MP3", "MP3", []string{"-c:a", "libmp3lame"}, 90},
		{"Vorbis 5.0", "Vorbis", []string{"-c:a", "libvorbis", "-af", "pan=5.0|c0=c0|c1=c1|c2=.3*c0|c3=.5*c1|c4=.5*c0"}, 120},
		{"Vorbis 5.1", "Vorbis", []string{"-c:a", "libvorbis", "-af", "pan=5.1|c0=c0|c1=c1|c2=.3*c0|c3=.1*c1|c4=.5*c1|c5=.5*c0"}, 120},
		{"Opus 5.1", "Opus", []string{"-c:a", "libopus", "-af", "pan=5.1|c0=c0|c1=c1|c2=.3*c0|c3=.1*c1|c4=.5*c1|c5=.5*c0"}, 70},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.mkv")
			audiotest.Run(t, "ffmpeg", append(append([]string{"-v", "error", "-i", src, "-t", "1"}, tt.args...), path)...)
			d, got := decode(t, audiotest.ReadFile(t, path))
			if d.Codec() != tt.codec {
				t.Errorf("codec %s, want %s", d.Codec(), tt.codec)
			}
			want := reference(t, tt.codec, path)
			extra := len(got) - len(want)
			if tt.codec == "MP3" {
				extra /= 1152 * d.Channels() // padding within the last frame is kept
			}
			if snr := audiotest.SNR(got, want); snr < tt.snr || extra != 0 {
				t.Errorf("%d samples %.1f dB from the reference's %d, want %.0f", len(got), snr, len(want), tt.snr)
			}
		})
	}
}

// vint returns n as a number of eight bytes.
func vint(n int) []byte {
	v := uint64(n)
	return []byte{1, byte(v >> 48), byte(v >> 40), byte(v >> 32), byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
}

// element returns an element with a size, -1 for an unknown one.
func element(id string, size int, body ...[]byte) []byte {
	b := bytes.Join(body, nil)
	if size < 0 {
		return append([]byte(id+"\x01\xff\xff\xff\xff\xff\xff\xff"), b...)
	}
	return append(append([]byte(id), vint(len(b))...), b...)
}

// file returns a live Matroska file of 8-bit PCM on track 2, behind a track of
// video, with the blocks given.
func file(blocks ...[]byte) []byte {
	track := func(number, kind byte, codec string) []byte {
		return element("\xae", 0, element("\xd7", 0, []byte{number}), element("\x83", 0, []byte{kind}), element("\x86", 0, []byte(codec)),
			element("\xe1", 0, element("\xb5", 0, []byte{0x45, 0xfa, 0, 0}), element("\x9f", 0, []byte{1}), element("\x62\x64", 0, []byte{8})))
	}
	return slices.Concat(
		element("\x1a\x45\xdf\xa3", 0, element("\x42\x82", 0, []byte("matroska"))),
		element("\x18\x53\x80\x67", -1),
		element("\x16\x54\xae\x6b", 0, track(1, 1, "V_VP8"), track(2, 2, "A_PCM/INT/LIT")),
		element("\x1f\x43\xb6\x75", -1, element("\xe7", 0, []byte{0})),
		bytes.Join(blocks, element("\x1f\x43\xb6\x75", -1)),
	)
}

func TestBlocks(t *testing.T) {
	block := func(flags byte, b string) []byte { return append([]byte{0x82, 0, 0, flags}, b...) }
	simple := func(flags byte, b string) []byte { return element("\xa3", 0, block(flags, b)) }
	const ms = "\x00\x0f\x42\x40" // in ns
	for _, tt := range []struct {
		name   string
		blocks [][]byte
		want   string
		lost   bool
	}{
		{"no lacing", [][]byte{simple(0, "abcd"), simple(0, "efgh")}, "abcdefgh", false},
		{"other track", [][]byte{element("\xa3", 0, []byte("\x81\x00\x00\x00video")), simple(0, "abcd")}, "abcd", false},
		{"Xiph lacing", [][]byte{simple(2, "\x02\x01\x03abcdefgh")}, "abcdefgh", false},
		{"fixed lacing", [][]byte{simple(4, "\x03abcdefgh")}, "abcdefgh", false},
		{"EBML lacing", [][]byte{simple(6, "\x02\x83\xbeabcdefgh")}, "abcdefgh", false},
		{"lace too long", [][]byte{simple(2, "\x01\xffabcd"), simple(0, "efgh")}, "efgh", true},
		{"group", [][]byte{element("\xa0", 0, element("\xa1", 0, block(0, "abcd")))}, "abcd", false},
		{"discard at the end", [][]byte{element("\xa0", 0, element("\xa1", 0, block(0, "abcdefghijklmnop")), element("\x75\xa2", 0, []byte(ms)))}, "abcdefgh", false},
		{"discard at the start", [][]byte{element("\xa0", 0, element("\xa1", 0, block(0, "abcdefghijklmnop")), element("\x75\xa2", 0, []byte("\xff\xf0\xbd\xc0")))}, "ijklmnop", false},
		{"unknown element", [][]byte{element("\xec", 0, []byte("void")), simple(0, "abcd")}, "abcd", false},
		{"no element, up to the next cluster", [][]byte{simple(0, "abcd"), append([]byte("\x00 a\x1f\x43 junk"), simple(0, "lost")...), simple(0, "efgh")}, "abcdefgh", true},
		{"no element, and no cluster", [][]byte{append(simple(0, "abcd"), 0, 0, 0, 0, 0, 0, 0, 0, 0x1f)}, "abcd", true},
		{"cut off", [][]byte{simple(0, "abcd"), simple(0, "efgh")[:14]}, "abcd", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, got := decode(t, file(tt.blocks...))
			if d.Rate() != 8000 || d.Channels() != 1 {
				t.Errorf("%d Hz, %d channels", d.Rate(), d.Channels())
			}
			if _, lost := d.Lost(); lost != tt.lost {
				t.Errorf("lost %v, want %v", lost, tt.lost)
			}
			if b := pcm.Encode(nil, got, pcm.U8); string(b) != tt.want {
				t.Errorf("got %q, want %q", b, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	head := element("\x1a\x45\xdf\xa3", 0, element("\x42\x82", 0, []byte("webm")))
	track := func(codec string) []byte {
		return slices.Concat(head, element("\x18\x53\x80\x67", -1),
			element("\x16\x54\xae\x6b", 0, element("\xae", 0, element("\xd7", 0, []byte{1}), element("\x83", 0, []byte{2}), element("\x86", 0, []byte(codec)))))
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"empty", nil, webm.ErrFormat},
		{"header only", head, webm.ErrFormat},
		{"huge header", append([]byte("\x1a\x45\xdf\xa3"), vint(1<<30)...), webm.ErrFormat},
		{"no element", append(slices.Clone(head), 0, 0, 0, 0), webm.ErrFormat},
		{"AC-3", track("A_AC3"), webm.ErrUnsupported},
		{"unknown codec", track("A_SECRET"), webm.ErrUnsupported},
		{"no audio", slices.Concat(head, element("\x16\x54\xae\x6b", 0, element("\xae", 0, element("\x83", 0, []byte{1})))), webm.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := webm.NewReader(bytes.NewReader(tt.b)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	f.Add(file([]byte("\xa3\x88\x82\x00\x00\x00abcd")))
	f.Add(file([]byte("\xa3\x8f\x82\x00\x00\x06\x02\x83\xbeabcdefgh")))
	f.Add(file([]byte("\xa0\x90\xa1\x88\x82\x00\x00\x00abcd\x75\xa2\x83\x0f\x42\x40")))
	for _, name := range []string{"opus.webm", "vorbis.webm", "mp3.mkv"} {
		f.Add(audiotest.ReadFile(f, filepath.Join("testdata", name)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := webm.NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		buf := make([]float32, 8192)
		for {
			n, err := d.Read(buf)
			if n%d.Channels() != 0 {
				t.Fatalf("%d samples of %d channels", n, d.Channels())
			}
			if err != nil {
				return
			}
		}
	})
}
