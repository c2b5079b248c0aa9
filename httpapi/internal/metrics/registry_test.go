//go:build !js

package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// TestScrapeLog: that a scraper has left is none of the server's errors.
func TestScrapeLog(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("writing: %w", &net.OpError{Op: "write", Net: "tcp", Err: errors.New("broken pipe")}), "level=DEBUG"},
		{errors.New("collected before"), "level=ERROR"},
	} {
		var b bytes.Buffer
		scrapeLog{slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))}.Println("error gathering metrics:", tt.err)
		if !strings.Contains(b.String(), tt.want) || !strings.Contains(b.String(), tt.err.Error()) {
			t.Errorf("%v: %s", tt.err, b.String())
		}
	}
}
