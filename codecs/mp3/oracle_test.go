package mp3_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"quern/codecs/internal/audiotest"
	"quern/codecs/mp3"
)

const sounds = "../../../shared/sounds/audio"

// decode reads all of data.
func decode(data []byte) (x []float32, rate, channels int, err error) {
	r, err := mp3.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, 0, 0, err
	}
	var buf [999]float32
	for {
		n, err := r.Read(buf[:])
		x = append(x, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return x, r.Rate(), r.Channels(), nil
		}
		if err != nil {
			return x, r.Rate(), r.Channels(), err
		}
	}
}

// mpg123 decodes data with the reference decoder; the test is skipped where it
// is not installed.
func mpg123(t testing.TB, data []byte) []float32 {
	t.Helper()
	cmd := exec.Command(audiotest.Need(t, "mpg123"), "-q", "-e", "f32", "-s", "-")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("mpg123: %v", err)
	}
	return floats(out)
}

func floats(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

// snr is the ratio of want to the difference of got from it, in dB.
func snr(got, want []float32) float64 {
	var s, n float64
	for i, w := range want[:min(len(want), len(got))] {
		d := float64(got[i]) - float64(w)
		s += float64(w) * float64(w)
		n += d * d
	}
	return 10 * math.Log10((s+1e-30)/(n+1e-30))
}

// same holds data's decoding against mpg123's.
func same(t *testing.T, data []byte) {
	t.Helper()
	want := mpg123(t, data)
	got, rate, channels, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := len(got) - len(want); d < -1152*channels || d > 1152*channels {
		t.Errorf("%d samples, mpg123 has %d", len(got)/channels, len(want)/channels)
	} else if d != 0 {
		t.Logf("%d samples, mpg123 has %d", len(got)/channels, len(want)/channels)
	}
	v := snr(got, want)
	t.Logf("%d Hz, %d channels, %d samples: %.1f dB", rate, channels, len(got)/channels, v)
	if !(v >= 90) {
		t.Errorf("SNR against mpg123 is %.1f dB, want at least 90", v)
	}
}

// TestGolden needs no other decoder. The streams named is hold intensity stereo.
func TestGolden(t *testing.T) {
	for _, name := range []string{"joint44", "crc24", "ms8", "is48", "is24", "ismixed24"} {
		t.Run(name, func(t *testing.T) {
			want := floats(audiotest.ReadFile(t, filepath.Join("testdata", name+".f32")))
			got, _, _, err := decode(audiotest.ReadFile(t, filepath.Join("testdata", name+".mp3")))
			if err != nil {
				t.Fatal(err)
			}
			if v := snr(got, want); v < 110 || len(got) != len(want) {
				t.Errorf("%d samples at %.1f dB, want %d at 110", len(got), v, len(want))
			}
		})
	}
}

func TestFixtures(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(sounds, "*.mp3"))
	if len(files) == 0 {
		t.Skip("no fixtures")
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			same(t, data)
		})
	}
}

// music is n frames of a decaying chord with clicks, different in both channels.
func music(n, rate, channels int) []float32 {
	rng := rand.New(rand.NewPCG(1, uint64(rate)))
	x := make([]float32, n*channels)
	noise := 0.0
	for i := range n {
		s := float64(i) / float64(rate)
		decay := math.Exp(-6 * math.Mod(s, 0.37))
		noise = 0.7*noise + rng.NormFloat64()*0.1
		for c := range channels {
			v := 0.0
			for k := range 5 {
				v += math.Sin(2*math.Pi*s*(180+float64(k*k)*310+float64(c)*3*float64(k))) / float64(k+2)
			}
			x[i*channels+c] = float32(0.4*decay*v + 0.15*noise*decay*float64(1+c))
		}
	}
	return x
}

// lame encodes x; the test is skipped where lame is not installed.
func lame(t testing.TB, x []float32, rate, channels int, args ...string) []byte {
	t.Helper()
	program := audiotest.Need(t, "lame")
	pcm := make([]byte, 0, 2*len(x))
	for _, v := range x {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(max(-1, min(1, v))*32767)))
	}
	head := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(36+len(pcm)))
	head = append(head, "WAVEfmt \x10\x00\x00\x00\x01\x00"...)
	head = binary.LittleEndian.AppendUint16(head, uint16(channels))
	head = binary.LittleEndian.AppendUint32(head, uint32(rate))
	head = binary.LittleEndian.AppendUint32(head, uint32(rate*channels*2))
	head = binary.LittleEndian.AppendUint16(head, uint16(channels*2))
	head = append(head, "\x10\x00data"...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(pcm)))
	// lame writes the tag's numbers only to a file.
	name := filepath.Join(t.TempDir(), "x.mp3")
	cmd := exec.Command(program, append(args, "--quiet", "-", name)...)
	cmd.Stdin = bytes.NewReader(append(head, pcm...))
	if err := cmd.Run(); err != nil {
		t.Fatalf("lame %q: %v", args, err)
	}
	return audiotest.ReadFile(t, name)
}

func TestLame(t *testing.T) {
	for _, tt := range []struct {
		rate, channels int
		args           []string
	}{
		{44100, 2, []string{"-b", "128"}},
		{44100, 2, []string{"-b", "320", "-m", "s"}},
		{44100, 2, []string{"-b", "96", "-m", "f"}},
		{44100, 2, []string{"-b", "128", "-m", "d"}},
		{44100, 2, []string{"-b", "64", "-m", "m"}},
		{44100, 1, []string{"-b", "32"}},
		{44100, 2, []string{"-V", "2", "-p"}},
		{44100, 2, []string{"--nores", "-b", "160"}},
		{44100, 2, []string{"--freeformat", "-b", "400"}},
		{44100, 2, []string{"-t", "-b", "112"}},
		{48000, 2, []string{"-V", "6"}},
		{48000, 1, []string{"--freeformat", "-b", "77"}},
		{32000, 2, []string{"--abr", "100", "-p"}},
		{24000, 1, []string{"--nores", "-b", "64"}},
		{24000, 2, []string{"-V", "9", "--resample", "24"}},
		{22050, 2, []string{"-b", "40"}},
		{22050, 1, []string{"-b", "160", "--noshort"}},
		{16000, 1, []string{"-b", "8"}},
		{16000, 2, []string{"-b", "80", "--allshort"}},
		{12000, 2, []string{"-b", "32", "-m", "f"}},
		{11025, 1, []string{"-V", "4"}},
		{11025, 2, []string{"-b", "64", "-p"}},
		{8000, 1, []string{"-b", "16"}},
		{8000, 2, []string{"-b", "64", "--allshort"}},
	} {
		t.Run(fmt.Sprint(tt.rate, tt.channels, tt.args), func(t *testing.T) {
			args := append([]string{"--resample", fmt.Sprint(float64(tt.rate) / 1000)}, tt.args...)
			same(t, lame(t, music(2*tt.rate, tt.rate, tt.channels), tt.rate, tt.channels, args...))
		})
	}
}

// TestDamage holds streams that were cut, joined, or have junk in them against
// mpg123.
func TestDamage(t *testing.T) {
	stream := lame(t, music(88200, 44100, 2), 44100, 2, "-b", "128", "-t")
	other := lame(t, music(44100, 44100, 2), 44100, 2, "-b", "96")
	id3 := append([]byte("ID3\x04\x00\x00\x00\x00\x10\x01"), make([]byte, 2049)...)
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"cut at the front", stream[5000:]},
		{"cut at the end", stream[:len(stream)-100]},
		{"ID3v2", append(slices.Clone(id3), stream...)},
		{"ID3v1", append(slices.Clone(stream), append([]byte("TAG"), make([]byte, 125)...)...)},
		{"junk in front", append(bytes.Repeat([]byte("junk"), 40), stream...)},
		{"joined", append(slices.Clone(stream), stream...)},
		{"joined with tags", append(slices.Clone(other), other...)},
		{"ID3v2 within", append(append(slices.Clone(stream), id3...), stream...)},
	} {
		t.Run(tt.name, func(t *testing.T) { same(t, tt.data) })
	}
}

// TestTags changes the tag of a stream.
func TestTags(t *testing.T) {
	stream := lame(t, music(44100, 44100, 2), 44100, 2, "-b", "128")
	at := bytes.Index(stream, []byte("Info"))
	const flags, frames, name = 4, 8, 8 + 4 + 4 + 100 + 4
	for _, tt := range []struct {
		name string
		edit func(tag []byte)
		want int64 // Frames
	}{
		{"whole", func([]byte) {}, 44100},
		{"another encoder", func(tag []byte) { copy(tag[name:], "Lavf\x00\x00") }, 44100},
		{"without LAME's part", func(tag []byte) { clear(tag[name : name+36]) }, 40*1152 - mp3.DecoderDelay},
		{"without frames", func(tag []byte) {
			tag[flags+3] &^= 1
			copy(tag[frames:], slices.Clone(tag[frames+4:frames+290]))
		}, -1},
		{"no tag", func(tag []byte) { tag[0] = 'J' }, -1},
		{"padding of everything", func(tag []byte) { tag[frames+3] = 1 }, 1152},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := slices.Clone(stream)
			tt.edit(data[at:])
			r, err := mp3.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if r.Frames() != tt.want {
				t.Errorf("Frames = %d, want %d", r.Frames(), tt.want)
			}
			switch tt.name {
			case "padding of everything": // mpg123 plays all of that
			case "without frames": // and of this too; FFmpeg takes the delay off, as here
				got, _, channels, err := decode(data)
				if want := 40*1152 - 576 - mp3.DecoderDelay; err != nil || len(got)/channels != want {
					t.Errorf("%d samples, %v; want %d", len(got)/channels, err, want)
				}
			default:
				same(t, data)
			}
		})
	}
	vbri := slices.Clone(stream)
	clear(vbri[4:160])
	copy(vbri[4+32:], "VBRI\x00\x01\x02\x00\x00\x64")
	vbri[4+32+17] = 40
	r, err := mp3.NewReader(bytes.NewReader(vbri))
	if err != nil || r.Frames() != 40*1152 {
		t.Errorf("VBRI: %v frames, %v; want %d", r.Frames(), err, 40*1152)
	}
}

// TestHole takes bytes out of a stream and puts junk in: all frames come, and
// after the few around the place they are what they were.
func TestHole(t *testing.T) {
	stream := lame(t, music(88200, 44100, 2), 44100, 2, "-b", "128", "-t")
	want, _, _, err := decode(stream)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"hole", append(slices.Clone(stream[:9000]), stream[9100:]...)},
		{"junk", append(append(slices.Clone(stream[:9000]), "some junk"...), stream[9000:]...)},
		{"zeros", append(append(slices.Clone(stream[:9000]), make([]byte, 5000)...), stream[9000:]...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, _, err := decode(tt.data)
			if err != nil {
				t.Fatal(err)
			}
			if lost := len(want) - len(got); lost < 0 || lost > 2*2*1152 {
				t.Errorf("%d samples are missing, want at most two frames", lost/2)
			}
			tail := want[len(want)/2:]
			if v := snr(got[len(got)-len(tail):], tail); v < 90 {
				t.Errorf("the second half has an SNR of %.1f dB", v)
			}
			peak := 0.0
			for _, v := range got {
				peak = max(peak, math.Abs(float64(v)))
			}
			if peak > 1.2 {
				t.Errorf("peak %.2f: broken main data was decoded", peak)
			}
		})
	}
}

// TestCut starts in the middle: frames whose data is gone are silent.
func TestCut(t *testing.T) {
	stream := lame(t, music(44100, 44100, 2), 44100, 2, "-b", "128", "-t")
	same(t, stream[5000:])
}

// TestIntensity switches intensity stereo on in headers of streams that have
// none: that decodes to something definite. ffmpeg is the reference: mpg123
// differs in short blocks and in MPEG-2.
func TestIntensity(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate int
		mode string
	}{
		{"MPEG-1", 44100, "j"},
		{"MPEG-1 with M/S", 44100, "f"},
		{"MPEG-2 with M/S", 22050, "f"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := lame(t, music(tt.rate, tt.rate, 2), tt.rate, 2, "-b", "128", "-t", "-m", tt.mode)
			for i := 0; i+4 < len(data); i++ {
				if data[i] == 0xFF && data[i+1] == data[1] && data[i+2]&0xF0 == data[2]&0xF0 && data[i+3]&0xC0 == 0x40 {
					data[i+3] |= 0x10
					i += 100
				}
			}
			name := filepath.Join(t.TempDir(), "x.mp3")
			audiotest.WriteFile(t, name, data)
			want := audiotest.FFmpeg(t, name)
			got, _, _, err := decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if v := snr(got, want); v < 90 || len(got) != len(want) {
				t.Errorf("%d samples at %.1f dB, want %d at 90 or more", len(got), v, len(want))
			}
		})
	}
}

// TestChanges joins streams of different kinds.
func TestChanges(t *testing.T) {
	stereo := encode(t, music(22050, 44100, 2), 44100, 2, 128)
	mono := encode(t, music(22050, 44100, 1), 44100, 1, 64)
	slow := encode(t, music(22050, 22050, 2), 22050, 2, 64)

	a, _, _, _ := decode(stereo)
	b, _, _, _ := decode(mono)
	got, _, channels, err := decode(append(slices.Clone(stereo), mono...))
	// In the middle a tag is a frame without sound, and its delay stays.
	const more = 1152 + mp3.EncoderDelay + mp3.DecoderDelay
	if want := len(a) + 2*(len(b)+more); err != nil || channels != 2 || len(got) != want {
		t.Fatalf("mono after stereo: %d samples in %d channels, %v; want %d in 2", len(got), channels, err, want)
	}
	for i := len(a); i < len(got); i += 2 {
		if got[i] != got[i+1] {
			t.Fatalf("mono after stereo: channels differ at %d", i)
		}
	}
	if v := snr(got[len(a)+2*more+4000:], double(b[2000:])); v < 90 {
		t.Errorf("mono after stereo: SNR %.1f dB", v)
	}
	got, _, channels, err = decode(append(slices.Clone(mono), stereo...))
	if err != nil || channels != 1 || len(got) != len(b)+len(a)/2+more {
		t.Errorf("stereo after mono: %d samples in %d channels, %v; want %d in 1", len(got), channels, err, len(b)+len(a)/2+more)
	}
	got, _, _, err = decode(append(slices.Clone(stereo), slow...))
	if !errors.Is(err, mp3.ErrUnsupported) || len(got) != len(a) {
		t.Errorf("another rate: %d samples, %v; want %d, ErrUnsupported", len(got), err, len(a))
	}
}

func double(x []float32) []float32 {
	y := make([]float32, 0, 2*len(x))
	for _, v := range x {
		y = append(y, v, v)
	}
	return y
}

func TestBad(t *testing.T) {
	layer2 := bytes.Repeat(append([]byte{0xFF, 0xFD, 0x84, 0x00}, make([]byte, 384-4)...), 5)
	for _, tt := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, mp3.ErrFormat},
		{"text", bytes.Repeat([]byte("no sound here "), 9999), mp3.ErrFormat},
		{"a header alone", []byte{0xFF, 0xFB, 0x90, 0x00}, mp3.ErrFormat},
		{"free format without end", append([]byte{0xFF, 0xFB, 0x00, 0x00}, make([]byte, 20000)...), mp3.ErrFormat},
		{"layer II", layer2, mp3.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := mp3.NewReader(bytes.NewReader(tt.data)); !errors.Is(err, tt.want) {
				t.Errorf("NewReader: %v, want %v", err, tt.want)
			}
		})
	}
}

// TestAllocation reads without allocating.
func TestAllocation(t *testing.T) {
	r, err := mp3.NewReader(bytes.NewReader(encode(t, music(44100, 44100, 2), 44100, 2, 128)))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]float32, 2304)
	if n := testing.AllocsPerRun(20, func() { r.Read(buf) }); n > 0 {
		t.Errorf("Read allocates %v times", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(encode(f, music(2000, 44100, 2), 44100, 2, 64))
	f.Add(encode(f, music(2000, 24000, 1), 24000, 1, 32))
	f.Add(encode(f, music(2000, 8000, 1), 8000, 1, 8))
	f.Add([]byte("ID3\x04\x00\x00\x00\x00\x00\x01x\xff\xfb\x00\x00"))
	f.Add([]byte("Ix\xff\xfb\x00\xcb\xcb\xcb\xcbDMx`U`\xcb\xca3\x04.\xb3x\xffx\xff\xfb\x00\xcb\xcb\x98\x1a\x86\x92\xc9\x03\xe8\xcb\xcb\xcb\xcb\xff\xfb\x00\xcb\xcb\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, _, channels, err := decode(data)
		if err != nil && !errors.Is(err, mp3.ErrFormat) && !errors.Is(err, mp3.ErrUnsupported) {
			t.Fatalf("error %v wraps no sentinel", err)
		}
		// The shortest frames, of free format in mono, have 1152 samples in the 21
		// bytes of a header and side information; the last may be cut off.
		if limit := len(data)*1152/21 + 1152; len(x)/max(channels, 1) > limit {
			t.Fatalf("%d frames of samples from %d bytes", len(x)/channels, len(data))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	data := lame(b, music(10*44100, 44100, 2), 44100, 2, "-b", "128")
	b.ReportAllocs()
	var buf [4096]float32
	for b.Loop() {
		r, err := mp3.NewReader(bytes.NewReader(data))
		for err == nil {
			_, err = r.Read(buf[:])
		}
	}
	b.ReportMetric(10*float64(b.N)/b.Elapsed().Seconds(), "x")
}
