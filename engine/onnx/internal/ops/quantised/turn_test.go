package quantised

import "testing"

// TestTurnRows turns planes whose numbers and sizes are and are not multiples of eight.
func TestTurnRows(t *testing.T) {
	for _, planes := range []int{1, 7, 8, 9, 16, 21} {
		for _, plane := range []int{1, 8, 15, 40} {
			x, got := make([]byte, planes*plane), make([]byte, planes*plane)
			for i := range x {
				x[i] = byte(i * 7)
			}
			for from := 0; from < plane; from += 16 {
				turnRows(got, x, planes, plane, from, min(from+16, plane), 0x8080808080808080)
			}
			for i := range planes {
				for p := range plane {
					if want := x[i*plane+p] ^ 128; got[p*planes+i] != want {
						t.Fatalf("%d planes of %d: byte %d of plane %d is %d, want %d", planes, plane, p, i, got[p*planes+i], want)
					}
				}
			}
		}
	}
}

// TestSpreadLines spreads rows of lengths about a multiple of eight.
func TestSpreadLines(t *testing.T) {
	const rows, size = 5, 6
	for _, n := range []int{1, 7, 8, 9, 17} {
		sums, lines := make([]int32, rows*n), make([]int32, n*size)
		for i := range sums {
			sums[i] = int32(i + 1)
		}
		spreadLines(lines, sums, n, size, 0, 2)
		spreadLines(lines, sums, n, size, 2, rows)
		for o := range n {
			for s := range size {
				want := int32(0)
				if s < rows {
					want = sums[s*n+o]
				}
				if lines[o*size+s] != want {
					t.Fatalf("%d lines: sum %d of line %d is %d, want %d", n, s, o, lines[o*size+s], want)
				}
			}
		}
	}
}
