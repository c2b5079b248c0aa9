package g2p

import (
	"regexp"
	"slices"
	"testing"
)

// Expressions are compiled when they are first used: that each can be is known here.
func TestPatterns(t *testing.T) {
	all := []func() *regexp.Regexp{dottedLetters, romanForm, mail, web, domain, file, path, flag, caret, streetAhead, unitBehind, breakTag, numeralBehind, dateAhead, thousands, verse, dayAhead, extension, serialAhead, halfDay, secondNumber, yearAhead, unitNumber}
	for _, p := range slices.Concat(numbers, named) {
		all = append(all, func() *regexp.Regexp { return p.re().Regexp })
	}
	for i, re := range all {
		func() {
			defer func() {
				if err := recover(); err != nil {
					t.Errorf("expression %d: %v", i, err)
				}
			}()
			first := re()
			if re() != first {
				t.Errorf("expression %d is compiled twice", i)
			}
		}()
	}
}
