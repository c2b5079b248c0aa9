package device

import (
	"slices"
	"strings"
	"testing"
)

func TestFindDevice(t *testing.T) {
	for _, tt := range []struct {
		name    string
		numbers []int
		wrong   string // what the error says; "" for none
	}{
		{"", nil, ""},
		{"auto", nil, ""},
		{"cpu", nil, ""},
		{"cpu:0", nil, "not known"},
		{"gpu", nil, "not known"},
		{"cuda", nil, ""},
		{"cuda:0", []int{0}, ""},
		{"cuda:1,0", []int{1, 0}, ""},
		{"cuda:", nil, "no number"},
		{"cuda:0,0", nil, "twice"},
		{"cuda:-1", nil, "no number"},
		{"cuda:99999", nil, "no number"},
	} {
		wrong := tt.wrong
		if cudaMissing != "" && strings.HasPrefix(tt.name, "cuda") {
			wrong = "no CUDA support"
		}
		places, numbers, err := findDevice(tt.name)
		switch {
		case wrong != "":
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%q: %v, want an error with %q", tt.name, err, wrong)
			}
		case err != nil || !slices.Equal(numbers, tt.numbers) || len(places) == 0:
			t.Errorf("%q: places %v, numbers %v, %v; want numbers %v", tt.name, places, numbers, err, tt.numbers)
		}
	}
}
