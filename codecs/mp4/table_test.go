package mp4

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"testing"
)

// However a file lists its samples, they are the same.
func TestTables(t *testing.T) {
	sizes := func(bits int) func([][]byte) []byte {
		return func(samples [][]byte) []byte {
			var p []byte
			for i := 0; i < len(samples); i++ {
				switch n := byte(len(samples[i])); {
				case bits == 16:
					p = append(p, 0, n)
				case bits == 8:
					p = append(p, n)
				case i+1 < len(samples):
					i++
					p = append(p, n<<4|byte(len(samples[i])))
				default:
					p = append(p, n<<4)
				}
			}
			return boxOf("stz2", uint32(0), uint32(bits), uint32(len(samples)), p)
		}
	}
	fixed := func(size int) func([][]byte) []byte {
		return func(samples [][]byte) []byte {
			return boxOf("stsz", uint32(0), uint32(size), uint32(len(samples)))
		}
	}
	// A size of 64 bits makes a box header eight bytes longer.
	large := maker{}.file(ramp(21)...)
	i := bytes.Index(large, []byte("mdat")) - 4
	large = slices.Concat(large[:i], bytesOf(uint32(1), "mdat", uint64(len(large)-i+8)), large[i+8:])
	i = bytes.Index(large, []byte("stco")) + 12
	be.PutUint32(large[i:], be.Uint32(large[i:])+8)
	endless := maker{}.file(ramp(21)...)
	be.PutUint32(endless[bytes.Index(endless, []byte("mdat"))-4:], 0)
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"one chunk", maker{}.file(ramp(21)...)},
		{"header last", maker{last: true}.file(ramp(21)...)},
		{"chunks", maker{chunks: []int{3, 3, 5, 1, 9}}.file(ramp(21)...)},
		{"empty chunk", maker{chunks: []int{3, 0, 18}}.file(ramp(21)...)},
		{"64-bit offsets", maker{wide: true, chunks: []int{20, 1}}.file(ramp(21)...)},
		{"sizes of 4 bits", maker{sizes: sizes(4)}.file(ramp(21)...)},
		{"sizes of 8 bits", maker{sizes: sizes(8)}.file(ramp(21)...)},
		{"sizes of 16 bits", maker{sizes: sizes(16)}.file(ramp(21)...)},
		{"one size", maker{sizes: fixed(2)}.file(ramp(21)...)},
		{"QuickTime's size of 1", maker{sizes: fixed(1)}.file(ramp(21)...)},
		{"size of 64 bits", large},
		{"no size", endless},
	} {
		t.Run(tt.name, func(t *testing.T) { wantSteps(t, tt.data, upTo(0, 21)) })
	}
}

// What numbers in a file claim costs nothing, and no file is read twice.
func TestHostileTables(t *testing.T) {
	many := func([][]byte) []byte {
		return boxOf("stsz", uint32(0), uint32(2), uint32(0xffffffff))
	}
	data := maker{sizes: many}.file(ramp(5)...)
	wantSteps(t, data, upTo(0, 5))

	// Many chunks that all begin at the same samples.
	all := ramp(500)
	data = maker{sizes: many, chunks: slices.Repeat([]int{0}, 1000)}.file(all...)
	i := bytes.Index(data, []byte("stsc")) + 8
	copy(data[i:], bytesOf(uint32(1), uint32(1), uint32(500), uint32(1), uint32(0xffffffff)))
	wantError(t, data, ErrFormat, "overlap")
}

// zeros is a file of which all but the beginning is zero.
type zeros struct{ head []byte }

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z.head)) {
		copy(p, z.head[off:])
	}
	return len(p), nil
}

// An hour of sound costs no more memory than a second.
func TestLongFile(t *testing.T) {
	const n, size = 160000, 200
	samples := slices.Repeat([][]byte{make([]byte, size)}, n)
	head := maker{kind: "ulaw", bits: 8}.file(samples...)
	total := int64(len(head))
	head = head[:len(head)-n*size]

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := NewReader(zeros{head}, total)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]float32, 1<<16)
	values := 0
	for {
		n, err := r.Read(buf)
		values += n
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if values != n*size {
		t.Errorf("%d values, want %d", values, n*size)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes allocated, want 4 MiB at most", got)
	}
}

// A file cut anywhere gives the first part of its samples, or an error.
func TestCutFiles(t *testing.T) {
	for _, data := range [][]byte{
		maker{chunks: []int{3, 5, 1, 9}}.file(ramp(18)...),
		maker{last: true}.file(ramp(18)...),
		fragmented(layout{}, ramp(18)),
	} {
		whole := upTo(0, 18)
		for n := range data {
			pcm, _, err := play(data[:n])
			if err != nil {
				if !isSentinel(err) {
					t.Fatalf("%d of %d bytes: error without a sentinel: %v", n, len(data), err)
				}
				continue
			}
			if got := steps(pcm); len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
				t.Fatalf("%d of %d bytes: got %v", n, len(data), got)
			}
		}
	}
}
