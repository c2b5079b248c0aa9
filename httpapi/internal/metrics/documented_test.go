package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	codeName = regexp.MustCompile(`(?:&desc\{|\br\.(?:counter|gauge|histogram)\()\s*"([a-z0-9_:]+)"`)
	docName  = regexp.MustCompile("`([a-z0-9_:]+)(…|\\*)?(?:\\{[^`]*\\})?`")
)

// TestDocumented holds the metrics against docs/operations.md: the table of what is measured has
// each, by its name or by what it begins with, and no other.
func TestDocumented(t *testing.T) {
	code, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"go_", "process_"} // of Prometheus's package
	for _, m := range codeName.FindAllSubmatch(code, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) < 40 {
		t.Fatalf("only %d metrics were found: %v", len(names), names)
	}
	_, table, _ := strings.Cut(string(text), "\n| family |")
	table, _, _ = strings.Cut(table, "\n\n")
	told := map[string]bool{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		for _, m := range docName.FindAllStringSubmatch(cells[0], -1) {
			found := false
			for _, name := range names {
				if name == m[1] || m[2] != "" && strings.HasPrefix(name, m[1]) {
					told[name], found = true, true
				}
			}
			if !found {
				t.Errorf("docs/operations.md has %s, which is no metric", m[0])
			}
		}
	}
	for _, name := range names {
		if !told[name] {
			t.Errorf("docs/operations.md does not have %s", name)
		}
	}
}
