package stat

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestUsedByOthers(t *testing.T) {
	for _, tt := range []struct {
		name, machine, process string
		want                   time.Duration
		ok                     bool
	}{
		{"all", "cpu  100 20 30 999 888 4 5 6 70 70\ncpu0 1\n", "12 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 10 20 30 5 20 0 1", time.Second, true},
		{"old", "cpu 1 2 3 4\n", "12 (a) S 1 1 1 0 -1 0 0 0 0 0 10 20 30 5 20 0 1", 0, false},
		{"odd", "cpu 1 2 3 4 5 6 x 8\n", "12 (a) S 1 1 1 0 -1 0 0 0 0 0 10 20 30 5 20 0 1", 0, false},
		{"short", "cpu 1 2 3 4 5 6 7 8\n", "12 (a) S 1", 0, false},
	} {
		got, ok := usedByOthers(func(name string) ([]byte, error) {
			return []byte(map[string]string{"/proc/stat": tt.machine, "/proc/self/stat": tt.process}[name]), nil
		})
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
	if _, ok := usedByOthers(func(string) ([]byte, error) { return nil, errors.New("none") }); ok {
		t.Error("known without files")
	}
}

func TestStamp(t *testing.T) {
	for _, tt := range []struct {
		o    Others
		want string
		busy bool
	}{
		{Others{-1, ""}, "not known", false},
		{Others{0.04, "meanwhile"}, "meanwhile: 0.04 processors", false},
		{Others{0.3, "meanwhile"}, "do not count", true},
	} {
		if got := tt.o.Stamp(); !strings.Contains(got, tt.want) || tt.o.Busy() != tt.busy {
			t.Errorf("%+v: %q, busy %v", tt.o, got, tt.o.Busy())
		}
	}
}
