package graphone_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"quern/engine/tts/g2p/graphone"
)

// words rhyme, so that their parts can be put together anew; they are repeated
// because what is rare is left out of a model.
var words = slices.Repeat([]graphone.Pair{
	{"cat", "kˈæt"}, {"hat", "hˈæt"}, {"mat", "mˈæt"}, {"sat", "sˈæt"}, {"chat", "ʧˈæt"}, {"shin", "ʃˈɪn"}, {"ship", "ʃˈɪp"}, {"chip", "ʧˈɪp"}, {"chin", "ʧˈɪn"},
	{"hip", "hˈɪp"}, {"sip", "sˈɪp"}, {"sin", "sˈɪn"}, {"tin", "tˈɪn"}, {"tip", "tˈɪp"}, {"map", "mˈæp"}, {"cap", "kˈæp"}, {"tax", "tˈæks"}, {"mix", "mˈɪks"},
}, 4)

func TestDecode(t *testing.T) {
	m := graphone.Train(words)
	for _, tt := range []struct {
		word, want string
		ok         bool
	}{
		{"cat", "kˈæt", true}, {"chap", "ʧˈæp", true}, {"shat", "ʃˈæt", true}, {"sax", "sˈæks", true},
		{"", "", false}, {"Cat", "", false}, {"qqq", "", false}, {string(bytes.Repeat([]byte("a"), 65)), "", false},
	} {
		if got, ok := m.Decode(tt.word); got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %q, %v; want %q, %v", tt.word, got, ok, tt.want, tt.ok)
		}
	}
}

// TestBytes checks that a model survives its file, and that training twice gives
// the same one.
func TestBytes(t *testing.T) {
	data := graphone.Train(words).Bytes()
	if again := graphone.Train(words).Bytes(); !bytes.Equal(data, again) {
		t.Errorf("two trainings differ")
	}
	m, err := graphone.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := m.Bytes(); !bytes.Equal(data, again) {
		t.Errorf("got %d bytes back, want the same %d", len(again), len(data))
	}
	for n := range data {
		if _, err := graphone.Parse(data[:n]); !errors.Is(err, graphone.ErrFormat) {
			t.Errorf("%d of %d bytes: got %v, want ErrFormat", n, len(data), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(graphone.Train(words[:40]).Bytes())
	f.Add([]byte{1, 0, 0, 1, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := graphone.Parse(data)
		if err != nil {
			if !errors.Is(err, graphone.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		m.Decode("chat")
	})
}
