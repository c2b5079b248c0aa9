package wav_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	gowav "github.com/go-audio/wav"

	"quern/codecs/internal/audiotest"
	"quern/codecs/pcm"
	"quern/codecs/wav"
)

func decode(t *testing.T, b []byte) (*wav.Reader, []float32) {
	t.Helper()
	// The type hides everything but Read.
	d, err := wav.NewReader(io.MultiReader(bytes.NewReader(b)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := audiotest.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, x
}

func TestFixtures(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rate, ch int
		frames   int
	}{
		{"m16000.src.wav", 16000, 1, 48000},
		{"s44.src.wav", 44100, 2, 132300},
		{"wav_alaw.wav", 8000, 1, 24000},
		{"wav_ext24.wav", 48000, 2, 144000},
		{"wav_f32.wav", 16000, 1, 48000},
		{"wav_f64.wav", 16000, 1, 48000},
		{"wav_mulaw.wav", 8000, 1, 24000},
		{"wav_rf64.wav", 16000, 1, 48000},
		{"wav_s16.wav", 16000, 1, 48000},
		{"wav_s24.wav", 16000, 1, 48000},
		{"wav_s32.wav", 16000, 1, 48000},
		{"wav_stream_ffffffff.wav", 16000, 1, 48000},
		{"wav_u8.wav", 16000, 1, 48000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := audiotest.Fixture(t, tt.name)
			d, got := decode(t, audiotest.ReadFile(t, path))
			if d.Rate() != tt.rate || d.Channels() != tt.ch || len(got) != tt.frames*tt.ch {
				t.Errorf("got %d Hz, %d channels, %d frames; want %d, %d, %d",
					d.Rate(), d.Channels(), len(got)/d.Channels(), tt.rate, tt.ch, tt.frames)
			}
			if snr := audiotest.SNR(got, audiotest.FFmpeg(t, path)); snr != 200 {
				t.Errorf("%.1f dB from ffmpeg, want no difference", snr)
			}
		})
	}
}

// sox is the reference for IMA: ffmpeg rounds the steps in another way than the
// specification. ffmpeg is the one for Microsoft's, whose products sox rounds
// down and not to zero.
func TestADPCM(t *testing.T) {
	src := audiotest.Fixture(t, "s44.src.wav")
	for _, channels := range []string{"1", "2"} {
		for _, codec := range []string{"ima", "ms"} {
			t.Run(codec+channels, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.wav")
				var want []float32
				if codec == "ima" {
					audiotest.Run(t, "sox", src, "-c", channels, "-e", "ima-adpcm", path)
					want = audiotest.Reference(t, "sox", path, "-t", "f32", "-")
				} else {
					audiotest.Run(t, "ffmpeg", "-v", "error", "-i", src, "-ac", channels, "-c:a", "adpcm_ms", path)
					want = audiotest.FFmpeg(t, path)
				}
				d, got := decode(t, audiotest.ReadFile(t, path))
				// The reference may decode the padding of the last block.
				if snr := audiotest.SNR(got, want); snr != 200 || len(got) > len(want) || len(got) < 132300*d.Channels() {
					t.Errorf("%d samples %.1f dB from the reference's %d, want no difference", len(got), snr, len(want))
				}
			})
		}
	}
}

// go-audio/wav is right for integers, so it is the reference that every machine
// has.
func TestAgainstGoAudio(t *testing.T) {
	x := ramp(1000, 2)
	for _, format := range []pcm.Format{pcm.S16, pcm.S24, pcm.S32} {
		var b bytes.Buffer
		w := wav.NewBufferedWriter(&b, 22050, 2, format)
		write(t, w, x)
		g := gowav.NewDecoder(bytes.NewReader(b.Bytes()))
		want, err := g.FullPCMBuffer()
		if err != nil {
			t.Fatal(err)
		}
		bits := 8 * format.Size()
		if want.Format.SampleRate != 22050 || want.Format.NumChannels != 2 || want.SourceBitDepth != bits {
			t.Errorf("%s: go-audio reads %+v, %d bits", format, want.Format, want.SourceBitDepth)
		}
		_, got := decode(t, b.Bytes())
		if len(got) != len(want.Data) {
			t.Fatalf("%s: got %d samples, go-audio %d", format, len(got), len(want.Data))
		}
		for i, v := range want.Data {
			if w := float32(v) / float32(int64(1)<<(bits-1)); got[i] != w {
				t.Fatalf("%s: sample %d is %v, go-audio says %v", format, i, got[i], w)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	var b bytes.Buffer
	write(t, wav.NewBufferedWriter(&b, 8000, 1, pcm.S16), ramp(100, 1))
	whole := b.Bytes()
	patch := func(at int, v uint32) []byte {
		c := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(c[at:], v)
		return c
	}
	const data = 40 // offset of the size of the data chunk
	rifx := []byte("RIFX\x00\x00\x00\x2eWAVEfmt \x00\x00\x00\x10\x00\x01\x00\x01\x00\x00\x1f\x40\x00\x00\x3e\x80\x00\x02\x00\x10" +
		"data\x00\x00\x00\x0a\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05")
	odd := append([]byte("RIFF\x00\x00\x00\x00WAVEjunk\x03\x00\x00\x00abc\x00LIST\x00\x00\x00\x00"), whole[12:]...)
	for _, tt := range []struct {
		name   string
		b      []byte
		frames int
	}{
		{"true sizes", whole, 100},
		{"data size 0", patch(data, 0), 100},
		{"data size 0xFFFFFFFF", patch(data, 0xffffffff), 100},
		{"data size of sox", patch(data, 0x7ffff000), 100},
		{"data size larger than the file", patch(data, 1<<20), 100},
		{"data size smaller than the file", patch(data, 50), 25},
		{"half a frame at the end", patch(data, 51), 25},
		{"cut inside a frame", whole[:len(whole)-3], 98},
		{"odd and empty chunks in front", odd, 100},
		{"big endian", rifx, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, x := decode(t, tt.b)
			if len(x) != tt.frames {
				t.Errorf("got %d frames, want %d", len(x), tt.frames)
			}
		})
	}
}

func TestWriterSizes(t *testing.T) {
	x := ramp(101, 1)
	path := filepath.Join(t.TempDir(), "x.wav")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, wav.NewWriter(f, 8000, 1, pcm.MuLaw), x)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var stream, buffered bytes.Buffer
	write(t, wav.NewWriter(&stream, 8000, 1, pcm.MuLaw), x)
	write(t, wav.NewBufferedWriter(&buffered, 8000, 1, pcm.MuLaw), x)
	for _, tt := range []struct {
		name       string
		b          []byte
		riff, data uint32
		length     int
	}{
		{"seekable", audiotest.ReadFile(t, path), 138, 101, 146},
		{"buffered", buffered.Bytes(), 138, 101, 146},
		{"streamed", stream.Bytes(), 0xffffffff, 0xffffffff, 145},
	} {
		t.Run(tt.name, func(t *testing.T) {
			riff, data := binary.LittleEndian.Uint32(tt.b[4:]), binary.LittleEndian.Uint32(tt.b[40:])
			if riff != tt.riff || data != tt.data || len(tt.b) != tt.length {
				t.Errorf("sizes %d and %d in %d bytes, want %d and %d in %d", riff, data, len(tt.b), tt.riff, tt.data, tt.length)
			}
			d, got := decode(t, tt.b)
			if len(got) != len(x) {
				t.Errorf("got %d samples, want %d", len(got), len(x))
			}
			want := time.Duration(0)
			if tt.data != 0xffffffff {
				want = 101 * time.Second / 8000
			}
			if d.Duration().Round(time.Microsecond) != want.Round(time.Microsecond) {
				t.Errorf("duration %v, want %v", d.Duration(), want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	fmtChunk := func(tag, channels, align, bits uint16) string {
		b := binary.LittleEndian.AppendUint16([]byte("fmt \x10\x00\x00\x00"), tag)
		b = binary.LittleEndian.AppendUint16(b, channels)
		b = append(b, 0x40, 0x1f, 0, 0, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint16(b, align)
		return string(binary.LittleEndian.AppendUint16(b, bits))
	}
	const riff = "RIFF\x00\x00\x00\x00WAVE"
	for _, tt := range []struct {
		name, b string
		want    error
	}{
		{"empty", "", wav.ErrFormat},
		{"AVI", "RIFF\x00\x00\x00\x00AVI ", wav.ErrFormat},
		{"no data", riff + fmtChunk(1, 1, 2, 16), wav.ErrFormat},
		{"data before fmt", riff + "data\x04\x00\x00\x00abcd", wav.ErrFormat},
		{"no channels", riff + fmtChunk(1, 0, 2, 16), wav.ErrFormat},
		{"odd frame", riff + fmtChunk(1, 2, 3, 16), wav.ErrFormat},
		{"GSM", riff + fmtChunk(0x31, 1, 65, 0), wav.ErrUnsupported},
		{"unknown format", riff + fmtChunk(0x7777, 1, 65, 0), wav.ErrUnsupported},
		{"endless chunk", riff + "junk\xff\xff\xff\xff", wav.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := wav.NewReader(bytes.NewReader([]byte(tt.b)))
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	for _, format := range []pcm.Format{pcm.U8, pcm.S16, pcm.S24, pcm.F64, pcm.ALaw} {
		var b bytes.Buffer
		w := wav.NewBufferedWriter(&b, 8000, 2, format)
		if err := errors.Join(w.Write(ramp(20, 2)), w.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x14\x00\x00\x00\x11\x00\x01\x00\x40\x1f\x00\x00\x00\x00\x00\x00\x10\x00\x04\x00\x02\x00\x19\x00data\x10\x00\x00\x00\x00\x00\x00\x00\x12\x34\x56\x78\x12\x34\x56\x78\x12\x34\x56\x78"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x1a\x00\x00\x00\x02\x00\x01\x00\x40\x1f\x00\x00\x00\x00\x00\x00\x10\x00\x04\x00\x08\x00\x14\x00\x01\x00\x00\x01\x00\x00data\x10\x00\x00\x00\x00\x10\x00\x20\x00\x30\x00\x78\x12\x34\x56\x78\x12\x34\x56\x78"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := wav.NewReader(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, wav.ErrFormat) && !errors.Is(err, wav.ErrUnsupported) {
				t.Fatalf("error %v wraps neither sentinel", err)
			}
			return
		}
		x, err := audiotest.ReadAll(d)
		if err != nil || len(x)%d.Channels() != 0 || len(x) > 4*len(b) {
			t.Fatalf("%d samples of %d channels from %d bytes: %v", len(x), d.Channels(), len(b), err)
		}
	})
}

// ramp returns n frames that no two formats store alike.
func ramp(n, channels int) []float32 {
	x := make([]float32, n*channels)
	for i := range x {
		x[i] = float32(i%37)/40 - float32(i%11)/20
	}
	return x
}

func write(t *testing.T, w *wav.Writer, x []float32) {
	t.Helper()
	// Two writes, so that what is written once must not be written twice.
	half := len(x) / 4 * 2
	if err := errors.Join(w.Write(x[:half]), w.Write(x[half:]), w.Close()); err != nil {
		t.Fatal(fmt.Errorf("writing: %w", err))
	}
}
