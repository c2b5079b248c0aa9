package cpu

import "testing"

func TestMeminfo(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int64
		ok         bool
	}{
		{"usual", "MemTotal:       24576000 kB\nMemAvailable:     123 kB\nBuffers: 1 kB\n", 123 << 10, true},
		{"old kernel", "MemTotal: 5 kB\n", 0, false},
		{"no number", "MemAvailable: lots kB\n", 0, false},
		{"negative", "MemAvailable: -5 kB\n", 0, false},
		{"too large", "MemAvailable: 999999999999999999999 kB\n", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := meminfo(tt.text, "MemAvailable")
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("%d, %v; want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
	if n := Available(); n < 1<<20 {
		t.Errorf("%d bytes are available", n)
	}
}
