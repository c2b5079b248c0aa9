package g2p

import (
	"bytes"
	"compress/flate"
	"errors"
	"testing"
)

func pack(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLexicon(t *testing.T) {
	if _, err := openLexicon(pack(t, []byte("\x03\x07\x06\x00\x02\x01cat\nr\n\nx\ny\nz\n"[:15]))); !errors.Is(err, ErrFormat) {
		t.Errorf("truncated: got %v, want ErrFormat", err)
	}
	l, err := openLexicon(pack(t, []byte("\x03\x09\x06\x00\x02\x01car\nt\now\nx\ny\nz\n")))
	if err != nil {
		t.Fatal(err)
	}
	for w, want := range map[string]string{"car": "x", "cat": "y", "cow": "z", "c": "", "": "", "zoo": ""} {
		if got, _ := l.find(w); got != want {
			t.Errorf("%q: got %q, want %q", w, got, want)
		}
	}
}

// TestData checks the size of what is embedded.
func TestData(t *testing.T) {
	lexicon, graphones, err := packed()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lexicon) + len(graphones) + len(homographData) + len(britishData); n >= 2<<20 {
		t.Errorf("%d bytes embedded, want less than 2 MB", n)
	}
}

func FuzzLexicon(f *testing.F) {
	f.Add([]byte("\x03\x09\x06\x00\x02\x01car\nt\now\nx\ny\nz\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := openLexicon(pack(t, data))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		l.find("cat")
	})
}
