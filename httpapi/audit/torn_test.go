package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A disk is a file with room for so many bytes more.
type disk struct {
	strings.Builder
	room int
}

var errFull = errors.New("no space left on device")

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	d.Builder.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func (d *disk) Close() error { return nil }

// TestFullDisk: a line that there is no room for spoils no other.
func TestFullDisk(t *testing.T) {
	d := &disk{room: 1 << 20}
	l := &Log{file: d}
	for _, tt := range []struct {
		id   string
		room int
		want error
	}{
		{"whole", 1000, nil}, {"half", 40, errFull}, {"none", 0, errFull}, {"a line break", 1, errFull}, {"none again", 0, errFull},
		{"behind", 1000, nil}, {"and one more", 1000, nil},
	} {
		d.room = tt.room
		if err := l.Write(Entry{Request: tt.id}); err != tt.want {
			t.Errorf("%s: %v, want %v", tt.id, err, tt.want)
		}
	}
	lines := strings.Split(d.String(), "\n")
	if len(lines) != 5 || lines[4] != "" {
		t.Fatalf("%d lines:\n%s", len(lines), d)
	}
	for i, id := range map[int]string{0: "whole", 2: "behind", 3: "and one more"} {
		if !strings.Contains(lines[i], `"request":"`+id+`"`) || !strings.HasSuffix(lines[i], "}") {
			t.Errorf("line %d is %s", i, lines[i])
		}
	}
}

// TestTornEnd: a file that ends inside a line is gone on with on the next.
func TestTornEnd(t *testing.T) {
	for before, want := range map[string]string{"": "", "{}\n": "{}\n", `{"ti`: `{"ti` + "\n"} {
		name := filepath.Join(t.TempDir(), "audit.log")
		if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Write(Entry{Request: "r"}), l.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(got), want+`{"time"`) {
			t.Errorf("behind %q: %q, %v", before, got, err)
		}
	}
}
