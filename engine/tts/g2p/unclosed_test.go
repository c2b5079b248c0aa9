package g2p_test

import (
	"strings"
	"testing"

	"quern/engine/tts/g2p"
)

// TestUnclosed: a bar stands where the first formula or link begins that is not closed.
func TestUnclosed(t *testing.T) {
	for _, tt := range []string{
		"plain words|", "$5 and more|", "$5.20|", "a $x^2$ b|", `\(a\) b|`, `\[a\]b|`, "$$a$$ b|", "[a](b) c|", "[1] c|", "[a]\n|", "US$5|", "$HOME/bin|", "$x and then|", "$a\n|",
		"[" + strings.Repeat("long ", 100) + "|", "$$" + strings.Repeat("long ", 300) + "|", "[a](" + strings.Repeat("long ", 300) + "|",
		"so |$x", "so |$x + y", "so |$", "so |$$", "so |$$x + y and more$", `so |\`, `so |\(x + y. And`, `|\[ \frac{1}{2}`, "$a$ |$b", "$$a$$ |$$b", "so |[the link", "so |[the link]", "so |[the link](http", "[a |[b", "|$2^n", "|[]", "|[pause:1", "|$x^2$", "|$$x$$",
	} {
		before, after, _ := strings.Cut(tt, "|")
		if got := g2p.Unclosed(before + after); got != len(before) {
			t.Errorf("%q: at byte %d", tt, got)
		}
	}
}
