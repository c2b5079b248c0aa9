package mp3

import (
	"math"
	"sync"
)

// kbpsTable[lsf][layer code - 1] is bitrate_index in kbit/s. The standard, 2.4.2.3.
var kbpsTable = [2][3][15]int{
	{
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
		{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
	},
	{
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
	},
}

// sfBands are the first lines of the scalefactor bands of long blocks and of
// one window of short blocks, by rate: 44.1, 48, 32, 22.05, 24, 16, 11.025, 12
// and 8 kHz. The standards, Table B.8; MPEG-2.5 as its decoders have it.
var sfBands = [9]struct {
	long  [23]int
	short [14]int
}{
	{
		[23]int{0, 4, 8, 12, 16, 20, 24, 30, 36, 44, 52, 62, 74, 90, 110, 134, 162, 196, 238, 288, 342, 418, 576},
		[14]int{0, 4, 8, 12, 16, 22, 30, 40, 52, 66, 84, 106, 136, 192},
	}, {
		[23]int{0, 4, 8, 12, 16, 20, 24, 30, 36, 42, 50, 60, 72, 88, 106, 128, 156, 190, 230, 276, 330, 384, 576},
		[14]int{0, 4, 8, 12, 16, 22, 28, 38, 50, 64, 80, 100, 126, 192},
	}, {
		[23]int{0, 4, 8, 12, 16, 20, 24, 30, 36, 44, 54, 66, 82, 102, 126, 156, 194, 240, 296, 364, 448, 550, 576},
		[14]int{0, 4, 8, 12, 16, 22, 30, 42, 58, 78, 104, 138, 180, 192},
	}, {
		[23]int{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
		[14]int{0, 4, 8, 12, 18, 24, 32, 42, 56, 74, 100, 132, 174, 192},
	}, {
		[23]int{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 114, 136, 162, 194, 232, 278, 332, 394, 464, 540, 576},
		[14]int{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 136, 180, 192},
	}, {
		[23]int{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
		[14]int{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 134, 174, 192},
	}, {
		[23]int{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
		[14]int{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 134, 174, 192},
	}, {
		[23]int{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
		[14]int{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 134, 174, 192},
	}, {
		[23]int{0, 12, 24, 36, 48, 60, 72, 88, 108, 132, 160, 192, 232, 280, 336, 400, 476, 566, 568, 570, 572, 574, 576},
		[14]int{0, 8, 16, 24, 36, 52, 72, 96, 124, 160, 162, 164, 166, 192},
	},
}

// pretab is added to the scalefactors of long blocks under preflag. The
// standard, Table B.6.
var pretab = [22]uint8{11: 1, 1, 1, 1, 2, 2, 3, 3, 3, 2, 0}

// linbits are the extra bits of tables 16 to 31.
var linbits = [32]uint8{16: 1, 2, 3, 4, 6, 8, 10, 13, 4, 5, 6, 7, 8, 9, 11, 13}

// slens are the bits of scalefactors below and above the middle of the
// spectrum, by scalefac_compress of MPEG-1. The standard, 2.4.2.7.
var slens = [16][2]uint8{
	{0, 0}, {0, 1}, {0, 2}, {0, 3}, {3, 0}, {1, 1}, {1, 2}, {1, 3},
	{2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 3}, {4, 2}, {4, 3},
}

// slenCounts[class][kind] are how many scalefactors have each of the four
// lengths of MPEG-2: class is that of scalefac_compress, 3 to 5 for the right
// channel of intensity stereo, kind a blockKind. ISO/IEC 13818-3, 2.4.3.2.
var slenCounts = [6][3][4]uint8{
	{{6, 5, 5, 5}, {9, 9, 9, 9}, {6, 9, 9, 9}},
	{{6, 5, 7, 3}, {9, 9, 12, 6}, {6, 9, 12, 6}},
	{{11, 10, 0, 0}, {18, 18, 0, 0}, {15, 18, 0, 0}},
	{{7, 7, 7, 0}, {12, 12, 12, 0}, {6, 15, 12, 0}},
	{{6, 6, 6, 3}, {12, 9, 9, 6}, {6, 12, 9, 6}},
	{{8, 8, 5, 0}, {15, 12, 9, 0}, {6, 18, 9, 0}},
}

// aliasC are the coefficients of alias reduction. The standard, Table B.9.
var aliasC = [8]float64{-0.6, -0.535, -0.33, -0.185, -0.095, -0.041, -0.0142, -0.0037}

// blockKind is how a granule's lines are grouped into bands.
type blockKind int

const (
	kindLong blockKind = iota
	kindShort
	kindMixed
)

// layout lists the bands of a granule in the order of the bitstream: a band of
// a short block is three, one a window.
type layout struct {
	n     int        // bands
	long  int        // of which long ones, before the short
	width [39]uint16 // lines; all even
	start [40]uint16 // first line
	win   [39]uint8  // window of a short band
}

// tables are what is computed once from the literals.
type tables struct {
	layouts [9][3]layout
	books   [34]book          // 32 and 33 are tables A and B
	pow43   [8207]float32     // i^(4/3)
	gain    [400]float32      // 2^((i-340)/4)
	synth   [16][4][8]float32 // of samples j and 32-j, see synthesis
	center  [8]float32        // of sample 16
	cs, ca  [8]float32
	// imdct[odd subband][block type] are the windows, with the last factors of the
	// transform and the frequency inversion of odd subbands; of type 2, 12 samples.
	imdct [2][4][36]float32
}

const gainZero = 340

var shared = sync.OnceValue(func() *tables {
	t := new(tables)
	for r := range t.layouts {
		for k := range t.layouts[r] {
			t.layouts[r][k] = newLayout(r, blockKind(k))
		}
	}
	for n, c := range codebooks {
		t.books[n] = newBook(c)
	}
	for i := 17; i < 32; i++ {
		from := 16
		if i >= 24 {
			from = 24
		}
		t.books[i] = t.books[from]
	}
	for i := range t.books {
		if i < 32 {
			t.books[i].linbits = uint(linbits[i])
		}
	}
	for i := range t.pow43 {
		t.pow43[i] = float32(math.Cbrt(float64(i)) * float64(i))
	}
	for i := range t.gain {
		t.gain[i] = float32(math.Exp2(float64(i-gainZero) / 4))
	}
	for i, c := range aliasC {
		t.cs[i], t.ca[i] = float32(1/math.Sqrt(1+c*c)), float32(c/math.Sqrt(1+c*c))
	}
	t.imdctWindows()
	t.synthWindows()
	return t
})

// newLayout returns the bands of rate r. A mixed block has the long bands of
// the two lowest subbands, 36 lines, then the short bands from the third on. At
// 8 kHz no short band begins there: no encoder makes mixed blocks at that rate,
// and n is 0.
func newLayout(r int, kind blockKind) layout {
	var l layout
	add := func(width, win int) {
		l.width[l.n], l.win[l.n] = uint16(width), uint8(win)
		l.start[l.n+1] = l.start[l.n] + uint16(width)
		l.n++
	}
	b := &sfBands[r]
	first := 0
	if kind != kindShort {
		for i := range 22 {
			if kind == kindMixed && b.long[i] >= 36 {
				break
			}
			add(b.long[i+1]-b.long[i], 0)
		}
		l.long = l.n
		first = 3
	}
	if kind == kindMixed && 3*b.short[first] != 36 {
		return layout{}
	}
	for i := first; i < 13 && kind != kindLong; i++ {
		for win := range 3 {
			add(b.short[i+1]-b.short[i], win)
		}
	}
	return l
}

// blockWindow is sample i of the window of a block type; type 2 has 12 samples.
// The standard, 2.4.3.4.10.3.
func blockWindow(typ, i int) float64 {
	long := math.Sin(math.Pi / 36 * (float64(i) + 0.5))
	switch {
	case typ == 2 && i < 12:
		return math.Sin(math.Pi / 12 * (float64(i) + 0.5))
	case typ == 2, typ == 1 && i >= 30, typ == 3 && i < 6:
		return 0
	case typ == 1 && i >= 24:
		return math.Sin(math.Pi / 12 * (float64(i) - 18 + 0.5))
	case typ == 3 && i < 12:
		return math.Sin(math.Pi / 12 * (float64(i) - 6 + 0.5))
	case typ == 1 && i >= 18, typ == 3 && i < 18:
		return 1
	}
	return long
}
