// Package spell compares words that may be typing mistakes of each other.
package spell

// Distance counts insertions, deletions, replacements and swaps of neighbours that
// turn a into b (the restricted Damerau-Levenshtein distance), byte by byte.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Closest returns the candidate that a typing mistake most likely meant, or ""
// when none is near: at most one edit per three letters, or one less than three,
// and never more than three.
func Closest(word string, candidates []string) string {
	limit := min(3, (len(word)+1)/3)
	best := ""
	for _, c := range candidates {
		if d := Distance(word, c); d <= limit && (best == "" || d < limit || c < best) {
			best, limit = c, d
		}
	}
	return best
}
