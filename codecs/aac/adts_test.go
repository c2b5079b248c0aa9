package aac

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// frame puts blocks into an ADTS frame like h.
func frame(h header, crc bool, blocks ...[]byte) []byte {
	h.crc, h.blocks = crc, len(blocks)
	var body []byte
	for _, b := range blocks {
		body = append(body, b...)
		if crc && len(blocks) > 1 {
			body = append(body, 0xaa, 0x55)
		}
	}
	protected := byte(1)
	if crc {
		protected = 0
	}
	n := h.size() + len(body)
	p := []byte{
		0xff, 0xf0 | protected,
		byte(h.object-1)<<6 | byte(h.rateIndex)<<2 | byte(h.channels>>2),
		byte(h.channels<<6) | byte(n>>11), byte(n >> 3), byte(n<<5) | 0x1f, 0xfc | byte(len(blocks)-1),
	}
	p = append(p, make([]byte, h.size()-headerSize)...)
	return append(p, body...)
}

// What surrounds and divides frames changes nothing of their sound.
func TestStreams(t *testing.T) {
	data := load(t, "mono16.aac")
	_, blocks := units(t, data)
	want, _ := decode(t, data)
	h, _ := parseHeader(data)

	join := func(crc bool, n int) (p []byte) {
		for c := range slices.Chunk(blocks, n) {
			p = append(p, frame(h, crc, c...)...)
		}
		return p
	}
	id3 := append([]byte("ID3\x04\x00\x00\x00\x00\x01\x02"), make([]byte, 130)...)
	junk := bytes.Repeat([]byte{0xff, 0xf1, 0x60, 0x40, 0x01, 0x7f, 0xfc, 3, 3}, 50)
	first, _ := parseHeader(data)
	within := func(p []byte) []byte { return slices.Concat(data[:first.length], p, data[first.length:]) }
	for _, tt := range []struct {
		name      string
		data      []byte
		lost, cut bool
	}{
		{"as it is", data, false, false},
		{"checksums", join(true, 1), false, false},
		{"two blocks a frame", join(false, 2), false, false},
		{"three blocks a frame, checksums", join(true, 3), false, false},
		{"tag before", slices.Concat(id3, data), false, false},
		{"tag within", within(id3), false, false},
		{"tag behind", slices.Concat(data, []byte("TAG"), make([]byte, 125)), false, false},
		{"junk before", slices.Concat(junk, data), false, false},
		{"junk within", within(junk), true, false},
		{"junk behind", slices.Concat(data, junk), false, true},
		{"padding behind", slices.Concat(data, make([]byte, 4096)), false, false},
		{"zeros for the rest", slices.Concat(data, make([]byte, 1<<17)), false, true},
		{"half a frame behind", slices.Concat(data, data[:100]), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, r := decode(t, tt.data)
			if _, lost := r.Lost(); lost != tt.lost || r.Cut() != tt.cut {
				t.Errorf("lost %v, cut %v; want %v, %v", lost, r.Cut(), tt.lost, tt.cut)
			}
			if len(got) != len(want) {
				t.Fatalf("%d values, want %d", len(got), len(want))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%.1f dB from the stream alone", ratio(got, want))
			}
		})
	}

	for name, spoil := range map[string]func(third []byte){
		"a damaged frame":        func(third []byte) { copy(third[headerSize:], bytes.Repeat([]byte{0xff}, 20)) },
		"another rate, damaged":  func(third []byte) { third[2] ^= 4 },
		"more channels, damaged": func(third []byte) { third[3] ^= 0x80 },
	} {
		t.Run(name, func(t *testing.T) {
			damaged := slices.Clone(data)
			second, _ := parseHeader(damaged[h.length:])
			spoil(damaged[h.length+second.length:])
			got, r := decode(t, damaged)
			if n := len(want) - maxFrame; len(got) != n {
				t.Errorf("%d values, want %d", len(got), n)
			}
			if _, lost := r.Lost(); !lost || r.Cut() {
				t.Errorf("lost %v, cut %v; want true, false", lost, r.Cut())
			}
		})
	}
}

func TestStreamErrors(t *testing.T) {
	data := load(t, "mono16.aac")
	_, blocks := units(t, data)
	h, _ := parseHeader(data)
	again := func(h header) []byte { return bytes.Repeat(frame(h, false, blocks[0]), 3) }
	main, silent, other := h, h, h
	main.object = 1
	silent.channels = 0
	other.rateIndex = 4
	for _, tt := range []struct {
		name string
		data []byte
		err  error
		text string
	}{
		{"nothing", nil, ErrFormat, "no ADTS frame"},
		{"text", bytes.Repeat([]byte("sound "), 5000), ErrFormat, "no ADTS frame"},
		{"much text", bytes.Repeat([]byte("sound "), 500000), ErrFormat, "no ADTS frame"},
		{"ADIF", []byte("ADIF and more"), ErrUnsupported, "ADIF"},
		{"LOAS", []byte{0x56, 0xe0, 0x10, 0, 0, 0, 0, 0}, ErrUnsupported, "LATM/LOAS"},
		{"Main", again(main), ErrUnsupported, "AAC Main"},
		{"no channels", again(silent), ErrUnsupported, "channels"},
		{"coupling", bytes.Repeat(frame(h, false, []byte{elementCCE << 5, 0, 0, 0}), 3), ErrUnsupported, "coupling"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(bytes.NewReader(tt.data))
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.err, tt.text)
			}
		})
	}

	t.Run("another rate within", func(t *testing.T) {
		r, err := NewReader(bytes.NewReader(slices.Concat(data, again(other))))
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]float32, 5000)
		for err == nil {
			_, err = r.Read(buf)
		}
		if !errors.Is(err, ErrUnsupported) {
			t.Errorf("got %v, want %v", err, ErrUnsupported)
		}
	})
}
