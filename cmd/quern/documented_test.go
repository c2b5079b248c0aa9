package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// docCall is a command as documents write it, to the end of the code or of the line, a pipe or a comment.
	docCall = regexp.MustCompile("(?:^|[`| ])quern (`?[a-z-]+)([^`|#&;>\n]*)")
	docFlag = regexp.MustCompile(`(?:^| )(--[a-z-]+|-[a-z])\b`)
	docYAML = regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```\n")
)

// documents are the texts for users, by their names.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "docs/*.md", "examples/*.md", "bench/*.md"} {
		names, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name)] = string(text)
		}
	}
	if len(out) < 15 {
		t.Fatalf("only %d documents were found", len(out))
	}
	return out
}

// TestCommandsDocumented holds the commands against the documents: those that documents call are
// there, with their flags, and docs/commands.md has each.
func TestCommandsDocumented(t *testing.T) {
	commands := map[string]*cobra.Command{}
	root := (&app{}).root()
	for _, c := range root.Commands() {
		commands[c.Name()] = c
	}
	texts, calls := documents(t), 0
	for name, text := range texts {
		for line := range strings.Lines(text) {
			for _, m := range docCall.FindAllStringSubmatch(line, -1) {
				c := commands[m[1]]
				if c == nil {
					continue // a sentence about quern
				}
				calls++
				for _, f := range docFlag.FindAllStringSubmatch(m[2], -1) {
					long, isLong := strings.CutPrefix(f[1], "--")
					if isLong && c.Flag(long) == nil && long != "help" || !isLong && c.Flags().ShorthandLookup(f[1][1:]) == nil {
						t.Errorf("%s: %s has no flag %s", name, strings.TrimSpace(m[0]), f[1])
					}
				}
			}
		}
	}
	if calls < 60 {
		t.Errorf("only %d calls were found", calls)
	}
	table := texts["docs/commands.md"]
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if c := commands[name]; c.IsAvailableCommand() && !strings.Contains(table, "`quern "+name) {
			t.Errorf("docs/commands.md does not have quern %s", name)
		}
	}
}

// TestSettingsDocumented reads the settings files that documents show.
func TestSettingsDocumented(t *testing.T) {
	texts, read := documents(t), 0
	t.Chdir(t.TempDir())
	write(t, "alice.key", "secret")
	for name, text := range texts {
		for _, m := range docYAML.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "# values.yaml") { // of the Helm chart
				continue
			}
			read++
			write(t, "quern.yaml", strings.ReplaceAll(m[1], "/etc/quern/", ""))
			if code, _, errs := quern(t, "", nil, "serve", "--print-config"); code != 0 {
				t.Errorf("%s: %s\n%s", name, errs, m[1])
			}
		}
	}
	if read < 3 {
		t.Errorf("only %d settings files were found", read)
	}
}
