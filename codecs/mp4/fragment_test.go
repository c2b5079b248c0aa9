package mp4

import (
	"errors"
	"slices"
	"testing"
)

func isSentinel(err error) bool { return errors.Is(err, ErrFormat) || errors.Is(err, ErrUnsupported) }

// A layout is how a fragmented file says where samples are.
type layout struct {
	base  bool // tfhd gives where data begin
	size  string
	other bool // a track that is not the one, in every fragment
	runs  int  // of a fragment, 1 if 0
	wide  bool // trun has all fields
}

// fragmented is a file with fragments of five samples each.
func fragmented(l layout, samples [][]byte) []byte {
	trexSize := uint32(0)
	if l.size == "trex" {
		trexSize = 2
	}
	mvex := boxOf("mvex",
		boxOf("trex", uint32(0), uint32(1), uint32(1), uint32(0), uint32(99), uint32(0)),
		boxOf("trex", uint32(0), uint32(7), uint32(1), uint32(0), trexSize, uint32(0)))
	data := maker{extra: mvex, chunks: []int{}}.file()
	for c := range slices.Chunk(samples, 5) {
		fragment := func(offset int) []byte {
			var flags uint32 = 0x20000
			var fields []byte
			if l.base {
				flags = tfhdBase
				fields = bytesOf(uint64(len(data)))
			}
			flags |= tfhdDescription | tfhdDuration
			fields = append(fields, bytesOf(uint32(1), uint32(1024))...)
			if l.size == "tfhd" {
				flags |= tfhdSize
				fields = append(fields, bytesOf(uint32(2))...)
			}
			var runs []byte
			per := (len(c) + max(l.runs, 1) - 1) / max(l.runs, 1)
			for i := 0; i < len(c); i += per {
				run := c[i:min(i+per, len(c))]
				var flags uint32
				var p []byte
				if i == 0 {
					flags |= trunOffset
					p = bytesOf(int32(offset))
				}
				if l.wide {
					flags |= trunFirstFlags | trunDuration | trunFlags | trunTime
					p = append(p, bytesOf(uint32(0))...)
				}
				if l.size == "" {
					flags |= trunSize
				}
				for range run {
					if l.wide {
						p = append(p, bytesOf(uint32(1024))...)
					}
					if l.size == "" {
						p = append(p, bytesOf(uint32(2))...)
					}
					if l.wide {
						p = append(p, bytesOf(uint32(0), uint32(0))...)
					}
				}
				runs = append(runs, boxOf("trun", flags, uint32(len(run)), p)...)
			}
			var other []byte
			if l.other {
				other = boxOf("traf", boxOf("tfhd", uint32(0x20000), uint32(1)),
					boxOf("trun", uint32(trunOffset), uint32(3), int32(4)))
			}
			return boxOf("moof", boxOf("mfhd", uint64(0)), other,
				boxOf("traf", boxOf("tfhd", flags, uint32(7), fields), runs))
		}
		n := len(fragment(0)) + 8
		data = slices.Concat(data, fragment(n), boxOf("mdat", slices.Concat(c...)))
	}
	return data
}

func TestFragments(t *testing.T) {
	for _, tt := range []struct {
		name   string
		layout layout
	}{
		{"sizes in runs", layout{}},
		{"size in track header", layout{size: "tfhd"}},
		{"size in movie header", layout{size: "trex"}},
		{"base", layout{base: true}},
		{"all fields", layout{wide: true}},
		{"three runs", layout{runs: 3}},
		{"another track", layout{other: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantSteps(t, fragmented(tt.layout, ramp(23)), upTo(0, 23))
		})
	}
	t.Run("a piece without header", func(t *testing.T) {
		data := fragmented(layout{}, ramp(10))
		head := fragmented(layout{}, nil)
		wantError(t, data[len(head):], ErrFormat, "piece of a stream")
	})
	t.Run("samples of nothing", func(t *testing.T) {
		mvex := boxOf("mvex", boxOf("trex", uint32(0), uint32(7), uint32(1), uint32(0), uint32(0), uint32(0)))
		data := maker{extra: mvex, chunks: []int{}}.file()
		data = append(data, boxOf("moof", boxOf("traf", boxOf("tfhd", uint32(0), uint32(7)),
			boxOf("trun", uint32(0), uint32(0xffffffff))))...)
		wantError(t, data, ErrFormat, "no samples")
	})
}
