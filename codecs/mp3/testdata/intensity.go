//go:build ignore

// Writes a stream of intensity stereo, which no free encoder makes: "go run intensity.go 1" in
// MPEG-1 at 48 kHz, "2" in MPEG-2 at 24 kHz, "mixed" in MPEG-2 with mixed blocks only, of which
// mpg123 has another idea than ffmpeg. Lines are -1, 0 or 1 at random; those of the right channel
// end early, and above them its scalefactors are positions, at random too. Frames are with and
// without middle and side.
package main

import (
	"log"
	"math/rand/v2"
	"os"
)

type writer struct {
	data []byte
	n    int // bits
}

func (w *writer) put(bits, v int) {
	for bits--; bits >= 0; bits-- {
		if w.n%8 == 0 {
			w.data = append(w.data, 0)
		}
		w.data[w.n/8] |= byte(v>>bits&1) << (7 - w.n%8)
		w.n++
	}
}

// kinds of blocks
const (
	long = iota
	short
	mixed
)

var rng = rand.New(rand.NewPCG(11, 172))

// quads writes n groups of four lines in the second table of count1, which has one code of four
// bits for every group: the lines that are zero.
func (w *writer) quads(n int) {
	for range n {
		zero := rng.IntN(16) | rng.IntN(16)
		w.put(4, zero)
		for i := range 4 {
			if zero>>i&1 == 0 {
				w.put(1, rng.IntN(2))
			}
		}
	}
}

// positions of MPEG-1 have three bits; 7 is none.
func (w *writer) positions(kind int) (compress int) {
	for range [...]int{21, 36, 35}[kind] {
		w.put(3, rng.IntN(8))
	}
	return 13
}

// positionsMPEG2 have lengths for up to four groups of bands. The longest number is no position in
// the standard, 7 is none in mpg123 and 16 is none in ffmpeg: all are left out.
func (w *writer) positionsMPEG2(kind int) (compress int) {
	a, b, c := 1+rng.IntN(4), 1+rng.IntN(4), 1+rng.IntN(4)
	lengths, counts := [4]int{a, b, c}, [...][4]int{{7, 7, 7}, {12, 12, 12}, {6, 15, 12}}[kind]
	compress = a*36 + b*6 + c
	if rng.IntN(2) == 0 {
		a, b, c = 1+rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(3)
		lengths, counts = [4]int{a, b, c}, [...][4]int{{6, 6, 6, 3}, {12, 9, 9, 6}, {6, 12, 9, 6}}[kind]
		compress = 180 + a<<4 + b<<2 + c
	}
	for i, n := range lengths {
		for range counts[i] {
			v := 0
			if n > 0 {
				v = rng.IntN(1<<n - 1)
			}
			if v == 7 {
				v = 6
			}
			w.put(n, v)
		}
	}
	return compress<<1 | rng.IntN(2)
}

// frame returns one of the given number of granules and bytes, its blocks of one of kinds.
func frame(version, granules, size int, kinds ...int) []byte {
	var head, main writer
	head.put(16, 0xFFFB&^((version-1)<<3))
	head.put(8, [...]int{0x94, 0x84}[version-1])
	head.put(8, 0x50|rng.IntN(2)<<5)
	head.put([...]int{9 + 3 + 8, 8 + 2}[version-1], 0)
	for range granules {
		kind := kinds[rng.IntN(len(kinds))]
		for ch := range 2 {
			start, compress, lines := main.n, 0, 560
			if ch == 1 {
				lines = rng.IntN(140)
				if version == 1 {
					compress = main.positions(kind)
				} else {
					compress = main.positionsMPEG2(kind)
				}
			}
			main.quads(lines / 4)
			head.put(12, main.n-start)
			head.put(9, 0)
			head.put(8, 190)
			head.put([...]int{4, 9}[version-1], compress)
			if kind == long {
				head.put(1+3*5+4+3, 0)
			} else {
				head.put(1+2+1, 1<<3|2<<1|(kind-short))
				head.put(2*5+3*3, 0)
			}
			if version == 1 {
				head.put(1, 0)
			}
			head.put(2, 1)
		}
	}
	data := append(head.data, main.data...)
	if head.n%8 != 0 || len(data) > size {
		log.Fatalf("%d bits of head, %d bytes of %d", head.n, len(data), size)
	}
	return append(data, make([]byte, size-len(data))...)
}

func main() {
	var out []byte
	switch os.Args[1] {
	case "1":
		for range 4 {
			out = append(out, frame(1, 2, 384, long, short, mixed)...)
		}
	case "2":
		for range 8 {
			out = append(out, frame(2, 1, 192, long, short)...)
		}
	case "mixed":
		for range 4 {
			out = append(out, frame(2, 1, 192, mixed)...)
		}
	}
	os.Stdout.Write(out)
}
