package builtin_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"quern/engine/builtin"
)

func TestFile(t *testing.T) {
	b := builtin.GGUF()
	if !bytes.HasPrefix(b, []byte("GGUF\x03\x00\x00\x00")) {
		t.Errorf("file starts with %q, want GGUF version 3", b[:min(8, len(b))])
	}
	if got, want := len(b), 8<<20; got > want {
		t.Errorf("file has %d bytes, want at most %d", got, want)
	}
	if !bytes.Contains(b[:min(4096, len(b))], []byte(builtin.Name)) {
		t.Errorf("no %q near the start of the file", builtin.Name)
	}
}

// The goldens must be of the embedded file, not of an earlier training run.
func TestGoldensBelongToFile(t *testing.T) {
	raw, err := os.ReadFile("testdata/greedy.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		SHA256 string
		Cases  []struct {
			Name   string
			Prompt string
			Tokens []int
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(builtin.GGUF())
	if got := hex.EncodeToString(sum[:]); got != golden.SHA256 {
		t.Errorf("file has SHA-256 %s, testdata/greedy.json is of %s", got, golden.SHA256)
	}
	if len(golden.Cases) < 20 {
		t.Errorf("%d goldens, want at least 20", len(golden.Cases))
	}
}
