package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|unlicense|copying|notice|patents)([-._].*)?$`)

// notices are the licences of what is in the program, which have to go along with it.
func notices(ctx context.Context, info *debug.BuildInfo) ([]byte, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("quern contains the work of others, under these licences.\n")
	if err := notice(&b, "Go "+strings.TrimPrefix(info.GoVersion, "go"), strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	if len(info.Deps) == 0 {
		return b.Bytes(), nil
	}
	args := []string{"mod", "download", "-json"}
	for _, m := range info.Deps {
		args = append(args, m.Path+"@"+m.Version)
	}
	text, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
		var m struct{ Path, Version, Dir, Error string }
		if err := dec.Decode(&m); err != nil {
			return nil, err
		}
		if err := notice(&b, m.Path+" "+m.Version, m.Dir); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// notice adds the licences in the folder of a module; a module without any is an error.
func notice(b *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if !licence.MatchString(e.Name()) || !e.Type().IsRegular() || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(b, "\n%s\n%s, %s\n%[1]s\n\n%[4]s\n", strings.Repeat("=", 80), name, e.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no file with its licence", name)
	}
	return nil
}
