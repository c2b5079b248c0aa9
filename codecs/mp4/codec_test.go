package mp4

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"testing"
)

// A frame of every kind of PCM.
func TestPCM(t *testing.T) {
	pcmC := func(flags, bits byte) []byte { return boxOf("pcmC", uint32(0), flags, bits) }
	wave := func(boxes ...[]byte) []byte { return boxOf("wave", slices.Concat(boxes...), uint32(8), uint32(0)) }
	enda := wave(boxOf("enda", uint16(1)))
	// A description of version 2 after the fields that all have.
	v2 := func(bits, flags uint32) []byte {
		return bytesOf(uint32(72), math.Float64bits(48000), uint32(1), uint32(0x7f000000), bits, flags, uint32(bits/8), uint32(1))
	}
	for _, tt := range []struct {
		name   string
		file   maker
		sample []byte
		want   float32
	}{
		{"twos", maker{kind: "twos"}, []byte{0x40, 0}, 0.5},
		{"twos, 8 bits", maker{kind: "twos", bits: 8}, []byte{0xc0}, -0.5},
		{"twos, version 1", maker{kind: "twos", version: 1}, []byte{0x40, 0}, 0.5},
		{"sowt", maker{kind: "sowt"}, []byte{0, 0xc0}, -0.5},
		{"raw", maker{kind: "raw ", bits: 8}, []byte{0xc0}, 0.5},
		{"raw, 16 bits", maker{kind: "raw ", bits: 16}, []byte{0x40, 0}, 0.5},
		{"in24", maker{kind: "in24"}, []byte{0xc0, 0, 0}, -0.5},
		{"in24, little", maker{kind: "in24", version: 1, details: enda}, []byte{0, 0, 0xc0}, -0.5},
		{"in32", maker{kind: "in32"}, []byte{0x20, 0, 0, 0}, 0.25},
		{"fl32", maker{kind: "fl32"}, bytesOf(float32(1.5)), 1.5},
		{"fl32, no number", maker{kind: "fl32"}, []byte{0xff, 0xff, 0xff, 0xff}, 0},
		{"fl64, little", maker{kind: "fl64", version: 1, details: enda}, binary.LittleEndian.AppendUint64(nil, math.Float64bits(-0.125)), -0.125},
		{"ulaw", maker{kind: "ulaw"}, []byte{0x80}, 32124.0 / 32768},
		{"alaw", maker{kind: "alaw"}, []byte{0x2a}, -32256.0 / 32768},
		{"lpcm, float", maker{kind: "lpcm", version: 2, details: v2(32, lpcmFloat)}, binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.75)), 0.75},
		{"lpcm, big", maker{kind: "lpcm", version: 2, details: v2(24, lpcmBig|lpcmSigned)}, []byte{0x40, 0, 0}, 0.5},
		{"lpcm, little", maker{kind: "lpcm", version: 2, details: v2(16, lpcmSigned)}, []byte{0, 0x40}, 0.5},
		{"ipcm, little", maker{kind: "ipcm", details: pcmC(1, 24)}, []byte{0, 0, 0x40}, 0.5},
		{"fpcm, big", maker{kind: "fpcm", details: pcmC(0, 32)}, bytesOf(float32(0.5)), 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pcm, r, err := play(tt.file.file(tt.sample, tt.sample))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(pcm, []float32{tt.want, tt.want}) {
				t.Errorf("got %v, want %v twice", pcm, tt.want)
			}
			rate := 1000
			if tt.file.version == 2 {
				rate = 48000
			}
			if r.Rate() != rate || r.Channels() != 1 {
				t.Errorf("%d Hz, %d channels; want %d, 1", r.Rate(), r.Channels(), rate)
			}
		})
	}
}

// A rate that a description does not hold is that of the track's times.
func TestRate(t *testing.T) {
	data := maker{}.file(ramp(3)...)
	i := bytes.Index(data, []byte("twos")) + 4 + 24
	copy(data[i:], make([]byte, 4))
	i = bytes.Index(data, []byte("mdhd")) + 4 + 12
	be.PutUint32(data[i:], 192000)
	_, r, err := play(data)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rate() != 192000 {
		t.Errorf("%d Hz, want 192000", r.Rate())
	}
}

// esds is the box of that name, with lengths of four bytes.
func esds(object byte, config []byte) []byte {
	descriptor := func(tag byte, parts ...any) []byte {
		p := bytesOf(parts...)
		return bytesOf(tag, []byte{0x80, 0x80, 0x80, byte(len(p))}, p)
	}
	return boxOf("esds", uint32(0), descriptor(tagES, uint16(1), byte(0),
		descriptor(tagDecoder, object, make([]byte, 12), descriptor(tagConfig, config)), descriptor(6, byte(2))))
}

func TestRefusals(t *testing.T) {
	mp4a := func(object byte, config ...byte) maker {
		return maker{kind: "mp4a", details: esds(object, config)}
	}
	for _, tt := range []struct {
		name string
		data []byte
		err  error
		text string
	}{
		{"nothing", nil, ErrFormat, "empty"},
		{"text", []byte("this is no movie at all"), ErrFormat, "begins with"},
		{"AC-3", maker{kind: "ac-3"}.file(ramp(2)...), ErrUnsupported, "AC-3"},
		{"E-AC-3", maker{kind: "ec-3"}.file(ramp(2)...), ErrUnsupported, "E-AC-3"},
		{"AMR", maker{kind: "samr"}.file(ramp(2)...), ErrUnsupported, "AMR"},
		{"AMR-WB", maker{kind: "sawb"}.file(ramp(2)...), ErrUnsupported, "AMR-WB"},
		{"encrypted", maker{kind: "enca"}.file(ramp(2)...), ErrUnsupported, "encrypted"},
		{"unknown", maker{kind: "abcd"}.file(ramp(2)...), ErrUnsupported, `"abcd"`},
		{"Vorbis", mp4a(0xdd).file(ramp(2)...), ErrUnsupported, "Vorbis"},
		{"unknown object", mp4a(0x77).file(ramp(2)...), ErrUnsupported, "0x77"},
		{"AAC Main", mp4a(0x40, 0x0a, 0x10).file(ramp(2)...), ErrUnsupported, "AAC Main"},
		{"USAC", mp4a(0x40, 0xf9, 0x48, 0x80, 0).file(ramp(2)...), ErrUnsupported, "USAC"},
		{"AAC without configuration", mp4a(0x40).file(ramp(2)...), ErrFormat, "AAC"},
		{"no units of AAC", mp4a(0x40, 0x12, 0x10).file(ramp(2)...), ErrFormat, "AAC"},
		{"ALAC without cookie", maker{kind: "alac"}.file(ramp(2)...), ErrFormat, "cookie"},
		{"Opus without header", maker{kind: "Opus"}.file(ramp(2)...), ErrFormat, "dOps"},
		{"FLAC without header", maker{kind: "fLaC"}.file(ramp(2)...), ErrFormat, "dfLa"},
		{"PCM of 12 bits", maker{bits: 12}.file(ramp(2)...), ErrUnsupported, "12 bits"},
		{"900 channels", maker{channels: 900}.file(ramp(2)...), ErrUnsupported, "900 channels"},
		{"video", maker{handler: "vide"}.file(ramp(2)...), ErrUnsupported, "no audio track"},
		{"no samples", maker{chunks: []int{}}.file(), ErrFormat, "no samples"},
		{"recording cut", boxOf("ftyp", "isom", uint32(0)), ErrFormat, "no header (moov)"},
		{"compressed header", slices.Concat(boxOf("ftyp"), boxOf("moov", boxOf("cmov"))), ErrUnsupported, "compressed"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantError(t, tt.data, tt.err, tt.text) })
	}
}

// Of several tracks, the first enabled one of sound is played.
func TestTracks(t *testing.T) {
	with := func(track, extra maker) []byte {
		track.extra = extra.track(0, nil)
		return track.file(ramp(5)...)
	}
	// The other track is behind the first one in the header.
	none := maker{chunks: []int{}}
	none.disabled = true
	wantSteps(t, with(maker{}, none), upTo(0, 5))
	none.disabled = false
	wantSteps(t, with(maker{}, none), upTo(0, 5))
	wantError(t, with(maker{disabled: true}, none), ErrFormat, "no samples")
	none.disabled = true
	wantSteps(t, with(maker{disabled: true}, none), upTo(0, 5))
	wantSteps(t, with(maker{}, maker{handler: "vide", chunks: []int{}}), upTo(0, 5))
}

// Files that ffmpeg made play what went in, from the first sample to the last.
func TestFiles(t *testing.T) {
	b, err := os.ReadFile("testdata/source.pcm")
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float32, len(b)/2)
	for i := range want {
		want[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / (1 << 15)
	}
	for _, tt := range []struct {
		name, codec string
		least       float64 // dB
	}{
		{"aac.m4a", "AAC-LC", 20},
		{"aac.mov", "AAC-LC", 20},
		{"fast.mp4", "AAC-LC", 20},
		{"fragments.mp4", "AAC-LC", 20},
		{"alac.m4a", "ALAC", math.Inf(1)},
		{"flac.mp4", "FLAC", math.Inf(1)},
		{"opus.mp4", "Opus", 20},
		{"mp3.mp4", "MP3", 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + tt.name)
			if err != nil {
				t.Fatal(err)
			}
			got, r, err := play(data)
			if err != nil {
				t.Fatal(err)
			}
			if r.Rate() != 48000 || r.Channels() != 1 || r.Codec() != tt.codec {
				t.Errorf("%d Hz, %d channels, %s; want 48000, 1, %s", r.Rate(), r.Channels(), r.Codec(), tt.codec)
			}
			// ffmpeg gives no end in fragments.
			if n := len(got) - len(want); n != 0 && (tt.name != "fragments.mp4" || n < 0 || n > 1024) {
				t.Fatalf("%d frames, want %d", len(got), len(want))
			}
			var signal, noise float64
			for i, w := range want {
				d := float64(got[i]) - float64(w)
				signal += float64(w) * float64(w)
				noise += d * d
			}
			if db := 10 * math.Log10(signal/noise); !(db >= tt.least) {
				t.Errorf("%.1f dB from the source, want %v", db, tt.least)
			}
		})
	}
}
