package mp4

import (
	"slices"
	"testing"
	"time"
)

// list is an edit list of durations in hundredths of a second and starts in
// thousandths, as pairs.
func list(pairs ...int) []byte {
	p := bytesOf(uint32(0), uint32(len(pairs)/2))
	for i := 0; i < len(pairs); i += 2 {
		p = append(p, bytesOf(uint32(pairs[i]), int32(pairs[i+1]), uint32(1<<16))...)
	}
	return p
}

func gapless(text string) []byte {
	return boxOf("udta", boxOf("meta", uint32(0), boxOf("hdlr", make([]byte, 25)), boxOf("ilst",
		boxOf("----", boxOf("mean", uint32(0), "com.apple.iTunes"), boxOf("name", uint32(0), "iTunSMPB"),
			boxOf("data", uint64(1)<<32, text)))))
}

func TestEdits(t *testing.T) {
	wide := bytesOf(uint32(1<<24), uint32(1), uint64(5), uint64(7), uint32(1<<16))
	tag := gapless(" 00000000 00000004 00000003 000000000000000A 00000000")
	for _, tt := range []struct {
		name string
		file maker
		want []int
	}{
		{"none", maker{}, upTo(0, 100)},
		{"start", maker{elst: list(0, 20)}, upTo(20, 100)},
		{"start and end", maker{elst: list(5, 20)}, upTo(20, 70)},
		{"64 bits", maker{elst: wide}, upTo(7, 57)},
		{"beyond the end", maker{elst: list(50, 90)}, upTo(90, 100)},
		{"pause", maker{elst: list(30, -1, 5, 10)}, upTo(10, 60)},
		{"two parts", maker{elst: list(1, 10, 2, 40)}, append(upTo(10, 20), upTo(40, 60)...)},
		{"list cut", maker{elst: list(5, 20)[:14]}, upTo(0, 100)},
		{"tag", maker{extra: tag}, upTo(4, 14)},
		{"tag and list", maker{extra: tag, elst: list(5, 20)}, upTo(20, 70)},
		{"tag and list from 0", maker{extra: tag, elst: list(10, 0)}, upTo(4, 14)},
		{"tag of words", maker{extra: gapless("no gap at all here")}, upTo(0, 100)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pcm, _, err := play(tt.file.file(ramp(100)...))
			if err != nil {
				t.Fatal(err)
			}
			if got := steps(pcm); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("repeats", func(t *testing.T) {
		wantError(t, maker{elst: list(5, 20, 5, 20)}.file(ramp(100)...), ErrUnsupported, "edit list")
	})
	t.Run("many", func(t *testing.T) {
		wantError(t, maker{elst: bytesOf(uint32(0), uint32(0xffffffff))}.file(ramp(100)...), ErrUnsupported, "edits")
	})
}

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		name string
		file maker
		want time.Duration
	}{
		{"of the track", maker{}, 100 * time.Millisecond},
		{"from a start", maker{elst: list(0, 20)}, 80 * time.Millisecond},
		{"of an edit", maker{elst: list(5, 20)}, 50 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, r, err := play(tt.file.file(ramp(100)...))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Duration(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
