package model_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quern/engine/model"
)

// TestArchitecturesDocumented holds the list of docs/models.md against the architectures that
// there are.
func TestArchitecturesDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n**Architectures** (`general.architecture` of GGUF files): ")
	list, _, ok := strings.Cut(list, ". A key or tensor that")
	if !ok {
		t.Fatal("docs/models.md has no list of architectures")
	}
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1) {
		told[m[1]] = true
	}
	if want, got := model.Known(), slices.Sorted(maps.Keys(told)); !slices.Equal(got, want) {
		t.Errorf("docs/models.md has\n%q\nwant\n%q", got, want)
	}
}
