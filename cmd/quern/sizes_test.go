package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizes: a file is one idea, which takes no more than 500 lines to write down, and a folder has
// no more than 40 files of one package, tests apart. Generated files are as long as they are.
func TestSizes(t *testing.T) {
	const mostLines, mostFiles = 500, 40
	folders := map[string]int{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folders[filepath.Dir(path)]++
		if n := bytes.Count(text, []byte("\n")); n > mostLines && !bytes.HasPrefix(text, []byte("// Code generated ")) {
			t.Errorf("%s has %d lines; the most are %d", path, n, mostLines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, n := range folders {
		if n > mostFiles {
			t.Errorf("%s has %d files; the most are %d", folder, n, mostFiles)
		}
	}
	if len(folders) < 100 {
		t.Errorf("only %d folders were seen", len(folders))
	}
}
