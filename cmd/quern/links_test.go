package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	mdFence  = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	mdCode   = regexp.MustCompile("`+[^`]*`+")
	mdLink   = regexp.MustCompile(`\]\(\s*<?([^)\s>]*)>?[^)]*\)`)
	mdTitle  = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	mdScheme = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*:|//)`)
)

// proseLines are the lines of a Markdown text that are no code block.
func proseLines(text string) []string {
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := mdFence.FindStringSubmatch(line)
		switch {
		case fence != "":
			if m != nil && m[1] != "" && strings.HasPrefix(m[1], fence) {
				fence = ""
			}
		case m != nil:
			fence = m[1]
		case !strings.HasPrefix(line, "    "):
			out = append(out, line)
		}
	}
	return out
}

// mdAnchors are the names that headings of a text have on GitHub: in lower case, without
// punctuation, spaces as hyphens; the second of a name has -1.
func mdAnchors(text string) []string {
	var names []string
	seen := map[string]int{}
	for _, line := range proseLines(text) {
		m := mdTitle.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		if n := seen[name]; n > 0 {
			names = append(names, fmt.Sprintf("%s-%d", name, n))
		} else {
			names = append(names, name)
		}
		seen[name]++
	}
	return names
}

// badLinks lists the relative links of the Markdown file at name that lead nowhere.
func badLinks(root fs.FS, name string) []string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return []string{err.Error()}
	}
	var bad []string
	for _, line := range proseLines(string(text)) {
		for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(line, ""), -1) {
			link := m[1]
			if mdScheme.MatchString(link) {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(link, "#")
			at := name
			if file != "" {
				at = path.Join(path.Dir(name), file)
			}
			if _, err := fs.Stat(root, at); err != nil { // also where it leaves the repository
				bad = append(bad, name+": "+link+": there is no such file")
				continue
			}
			if !hasAnchor {
				continue
			}
			target, err := fs.ReadFile(root, at)
			if err != nil || !slices.Contains(mdAnchors(string(target)), anchor) {
				bad = append(bad, name+": "+link+": there is no such heading")
			}
		}
	}
	return bad
}

// TestLinks follows the relative links of all Markdown files.
func TestLinks(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	files := 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		files++
		for _, b := range badLinks(root, name) {
			t.Error(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("only %d Markdown files were found", files)
	}
}

func TestLinksNotice(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docs/b.md": "# Two words, & more\n\n## Same\n\n```\n# code\n```\n\n## Same\n",
		"a.md": "[a](docs/b.md) [a](docs/b.md#two-words--more) [a](docs/b.md#same-1) [a](docs) [a](https://example.com/x) `[a](code.md)`\n\n    [a](code.md)\n\n" +
			"![a](gone.png) [a](docs/b.md#code)\n[a](docs/b.md#same-2) [a](../a.md) [a](#gone \"title\")\n",
	} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got := badLinks(os.DirFS(dir), "a.md")
	want := []string{
		"a.md: gone.png: there is no such file",
		"a.md: docs/b.md#code: there is no such heading",
		"a.md: docs/b.md#same-2: there is no such heading",
		"a.md: ../a.md: there is no such file",
		"a.md: #gone: there is no such heading",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTestCommand holds the README's command for the tests against the one CI runs.
func TestTestCommand(t *testing.T) {
	step, err := os.ReadFile(filepath.Join("..", "..", ".ci", "steps", "test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(step)), "\n")
	command := lines[len(lines)-1]
	if !regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(command) + `( +#.*)?$`).Match(readme) {
		t.Errorf("README.md does not have the command %q", command)
	}
}

// bare are the packages without an example: what they have takes a *testing.T.
var bare = []string{"bench/poll", "engine/graph/graphtest", "engine/hub/hubtest"}

// TestExamples wants an example in the tests of every package that others may import.
func TestExamples(t *testing.T) {
	root := filepath.Join("..", "..")
	code, example := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && (base == "internal" || base == "testdata" || base == "node_modules" || name != root && strings.ContainsAny(base[:1], "._")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		switch {
		case strings.HasSuffix(name, "_test.go"):
			example[dir] = example[dir] || goExample.Match(text)
		default:
			if m := goPackage.FindSubmatch(text); m != nil && string(m[1]) != "main" {
				code[dir] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(code) < 50 {
		t.Errorf("only %d packages were found", len(code))
	}
	for dir := range code {
		if listed := slices.Contains(bare, dir); !example[dir] && !listed {
			t.Errorf("%s has no example with an output", dir)
		} else if example[dir] && listed {
			t.Errorf("%s has an example and is listed as one without", dir)
		}
	}
}

var (
	goExample = regexp.MustCompile(`(?ms)^func Example\w*\(\) \{$.*?^\t// Output:$`)
	goPackage = regexp.MustCompile(`(?m)^package (\w+)`)
)
