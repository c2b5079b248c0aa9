package server

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLogged: of why a request was refused, which may repeat what its client sent, the log says the
// beginning; of what went wrong here all.
func TestLogged(t *testing.T) {
	long := errors.New(strings.Repeat("é", 100_000))
	if got := logged(long, 400); len(got) > mostLogged+len("…") || !strings.HasPrefix(got, "éé") || !utf8.ValidString(got) {
		t.Errorf("of a client's mistake: %d bytes", len(got))
	}
	if got := logged(long, 500); got != long.Error() {
		t.Errorf("of the server's: %d bytes", len(got))
	}
	if got := logged(errors.New("short"), 400); got != "short" {
		t.Errorf("got %q", got)
	}
}
