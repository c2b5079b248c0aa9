package mp4

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func FuzzReader(f *testing.F) {
	names, err := filepath.Glob("testdata/*.m??")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(maker{chunks: []int{3, 5, 1}, elst: list(1, 2), extra: gapless(" 0 4 3 A 0")}.file(ramp(9)...))
	f.Add(maker{last: true, wide: true}.file(ramp(9)...))
	f.Add(fragmented(layout{}, ramp(12)))
	f.Add(fragmented(layout{base: true, size: "tfhd"}, ramp(12)))
	f.Add(written(f, chord(3000, 24000, 1), 24000, 1, 24000, false, 3000))
	f.Add(written(f, chord(6000, 24000, 1), 24000, 1, 24000, true, 3000))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error without a sentinel: %v", err)
			}
			return
		}
		if ch := r.Channels(); ch < 1 || ch > maxChannels || r.Rate() < 1 || r.Rate() > 1<<20 || r.Duration() < 0 {
			t.Fatalf("%d channels, %d Hz, %v", ch, r.Rate(), r.Duration())
		}
		buf := make([]float32, 4096)
		for {
			n, err := r.Read(buf)
			for _, v := range buf[:n] {
				if v-v != 0 {
					t.Fatal("not a number")
				}
			}
			if n%r.Channels() != 0 {
				t.Fatalf("%d values of %d channels", n, r.Channels())
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				if !isSentinel(err) {
					t.Fatalf("error without a sentinel: %v", err)
				}
				return
			}
		}
	})
}

// The input is an ALAC cookie of 24 bytes and packets of a length each.
func FuzzALAC(f *testing.F) {
	data, err := os.ReadFile("testdata/alac.m4a")
	if err != nil {
		f.Fatal(err)
	}
	file := &file{bytes.NewReader(data), int64(len(data))}
	moov, err := file.findMovie()
	if err != nil {
		f.Fatal(err)
	}
	m, err := file.readMovie(moov)
	if err != nil {
		f.Fatal(err)
	}
	table, err := newTable(file, m.track.table)
	if err != nil {
		f.Fatal(err)
	}
	s := &samples{f: file, table: table, budget: file.size}
	seed := bytes.Clone(m.track.entry.boxes["alac"][4:][:24])
	for {
		p, err := s.packet()
		if err == io.EOF {
			break
		} else if err != nil {
			f.Fatal(err)
		}
		seed = append(append(seed, byte(len(p)>>8), byte(len(p))), p...)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		cookie := append(make([]byte, 4), data[:min(24, len(data))]...)
		d, err := newALAC(&entry{boxes: map[string][]byte{"alac": cookie}})
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error without a sentinel: %v", err)
			}
			return
		}
		for data = data[24:]; len(data) >= 2; {
			n := min(int(data[0])<<8|int(data[1]), len(data)-2)
			pcm, err := d.Decode(nil, data[2:][:n])
			if err != nil && !isSentinel(err) {
				t.Fatalf("error without a sentinel: %v", err)
			}
			if len(pcm) > maxALACFrame*maxChannels || len(pcm)%d.Channels() != 0 {
				t.Fatalf("%d values of %d channels", len(pcm), d.Channels())
			}
			data = data[2+n:]
		}
	})
}
