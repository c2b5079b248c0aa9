package spell_test

import (
	"testing"

	"quern/engine/spell"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "abxc", 1}, {"abcd", "acbd", 1},
		{"max_token", "max_tokens", 1}, {"temprature", "temperature", 1}, {"ca", "abc", 3},
	} {
		if got := spell.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestClosest(t *testing.T) {
	words := []string{"listen", "limits", "log", "models", "model_dirs"}
	for _, tt := range []struct{ word, want string }{
		{"listn", "listen"}, {"lsiten", "listen"}, {"listen", "listen"}, {"model", "models"}, {"modelsdirs", "model_dirs"},
		{"colour", ""}, {"", ""}, {"x", ""}, {"lgo", "log"}, {"port", ""}, {"loud", ""},
	} {
		if got := spell.Closest(tt.word, words); got != tt.want {
			t.Errorf("Closest(%q) = %q; want %q", tt.word, got, tt.want)
		}
	}
}
