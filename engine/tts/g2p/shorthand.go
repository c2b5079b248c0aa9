package g2p

import "strings"

// texted are words as they are written in a hurry, with figures for sounds.
var texted = map[string]string{
	"k8s": "kubernetes", "a11y": "accessibility", "2nite": "tonight", "2night": "tonight", "2day": "today", "2moro": "tomorrow", "2morrow": "tomorrow", "2mrw": "tomorrow", "2gether": "together", "4ever": "forever", "4eva": "forever", "gr8": "great", "l8r": "later", "l8": "late", "m8": "mate", "w8": "wait", "h8": "hate", "b4": "before", "str8": "straight", "some1": "someone", "any1": "anyone", "every1": "everyone", "no1": "no one", "2b": "to be", "4u": "for you", "2u": "to you", "f2f": "face to face", "b2b": "!B to !B", "b2c": "!B to !C", "p2p": "peer to peer", "sk8": "skate", "h8rs": "haters", "h8ers": "haters",
}

// shorthand reads the word of letters and figures that rest begins with, and its length.
func shorthand(rest string) (int, []string) {
	k, figures := 0, 0
	for k < len(rest) && k < 9 && (isLetter(rest[k]) || isDigit(rest[k])) {
		if isDigit(rest[k]) {
			figures++
		}
		k++
	}
	if figures == 0 || figures == k || joins(firstRune(rest[k:])) {
		return 0, nil
	}
	w := rest[:k]
	if low := strings.ToLower(w); texted[low] != "" && (w == low || w == title(low) && k > 2) {
		return k, strings.Fields(texted[low])
	}
	return 0, nil
}
