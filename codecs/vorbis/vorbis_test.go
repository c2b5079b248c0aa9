package vorbis_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"quern/codecs/vorbis"
)

// headers returns the identification and setup headers of a stream and a packet
// of it.
func headers(t testing.TB) (ident, setup, packet []byte) {
	t.Helper()
	b, err := os.ReadFile("testdata/headers.bin")
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(b), "\x05vorbis")
	return b[:30], b[at : len(b)-64], b[len(b)-64:]
}

// bits writes fields of a header, least significant bit first.
type bits struct {
	b []byte
	n int
}

func (w *bits) put(v uint64, n int) *bits {
	for i := range n {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
	return w
}

// book starts a setup header of one codebook.
func book(dims, entries uint64) *bits {
	w := &bits{b: []byte("\x05vorbis"), n: 56}
	return w.put(0, 8).put(0x564342, 24).put(dims, 16).put(entries, 24)
}

// A setup header must be refused before the decoder allocates by it, or looks
// for a code word that is not there.
func TestSetup(t *testing.T) {
	ident, setup, _ := headers(t)
	for _, tt := range []struct {
		name  string
		setup []byte
		want  error
	}{
		{"a good one", setup, nil},
		{"empty", nil, vorbis.ErrFormat},
		{"cut off", setup[:len(setup)/2], vorbis.ErrFormat},
		{"no entries", book(1, 0).put(0, 64).b, vorbis.ErrFormat},
		{"no dimensions", book(0, 2).put(0, 64).b, vorbis.ErrFormat},
		{"16 million entries", book(1, 1<<24-1).put(0, 64).b, vorbis.ErrFormat},
		{"65535 dimensions", book(65535, 20).put(0, 640).b, vorbis.ErrFormat},
		{"one entry", book(1, 1).put(0, 64).b, vorbis.ErrUnsupported},
		{"incomplete tree", book(1, 2).put(0, 1).put(0, 1).put(0, 5).put(1, 5).put(0, 64).b, vorbis.ErrFormat},
		{"overfull tree", book(1, 3).put(0, 1).put(0, 1).put(0, 15).put(0, 64).b, vorbis.ErrFormat},
		{"ordered, endless", book(1, 1000).put(1, 1).put(0, 5).b, vorbis.ErrFormat},
		{"lookup type 3", book(1, 2).put(0, 1).put(0, 1).put(0, 10).put(3, 4).put(0, 64).b, vorbis.ErrFormat},
		{"no floors", book(1, 2).put(0, 1).put(0, 1).put(0, 10).put(0, 4).put(0, 64).b, vorbis.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := vorbis.NewDecoder(ident, tt.setup); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	for i, v := range map[int]byte{0: 9, 11: 0, 28: 0xff, 29: 0} {
		bad := append([]byte(nil), ident...)
		bad[i] = v
		if _, err := vorbis.NewDecoder(bad, setup); !errors.Is(err, vorbis.ErrFormat) {
			t.Errorf("identification header with %d at %d: %v, want %v", v, i, err, vorbis.ErrFormat)
		}
	}
	many := append([]byte(nil), ident...)
	many[11] = 9
	if _, err := vorbis.NewDecoder(many, setup); !errors.Is(err, vorbis.ErrUnsupported) {
		t.Errorf("nine channels: %v, want %v", err, vorbis.ErrUnsupported)
	}
}

func FuzzDecoder(f *testing.F) {
	ident, setup, packet := headers(f)
	f.Add(ident, setup, packet)
	f.Fuzz(func(t *testing.T, ident, setup, packet []byte) {
		d, err := vorbis.NewDecoder(ident, setup)
		if err != nil {
			if !errors.Is(err, vorbis.ErrFormat) && !errors.Is(err, vorbis.ErrUnsupported) {
				t.Fatalf("error %v wraps neither sentinel", err)
			}
			return
		}
		for range 3 {
			x, err := d.Decode(nil, packet)
			if err != nil && !errors.Is(err, vorbis.ErrFormat) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			if len(x)%d.Channels() != 0 || len(x) > 8192*d.Channels() {
				t.Fatalf("%d samples of %d channels", len(x), d.Channels())
			}
		}
	})
}
