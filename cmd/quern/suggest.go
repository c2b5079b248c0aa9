package main

import "quern/engine/spell"

// closest returns the candidate that a typing mistake most likely meant, or ""
// when none is near: at most one edit per three letters, and never more than
// three.
func closest(word string, candidates []string) string {
	limit := min(3, (len(word)+2)/3)
	best := ""
	for _, c := range candidates {
		if d := spell.Distance(word, c); d <= limit && (best == "" || d < limit || c < best) {
			best, limit = c, d
		}
	}
	return best
}
