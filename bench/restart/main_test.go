package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"quern/engine/builtin"
)

// TestMain lets the test program be the processes that run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-visit" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	path := t.TempDir() + "/tiny.gguf"
	if err := os.WriteFile(path, builtin.GGUF(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cache := range []string{"f16", "q4_0"} {
		var out strings.Builder
		if err := run([]string{"-runs", "1", "-tokens", "300", "-threads", "2", "-json", "-cache-type", cache, "-dir", t.TempDir(), path}, &out); err != nil {
			t.Fatal(err)
		}
		var r results
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			t.Fatal(err)
		}
		// Nine blocks of each of two prompts, and the hash of the weights.
		if len(r.Disk) != 1 || r.Disk[0] <= 0 || r.Memory[0] <= 0 || r.Files < 9 {
			t.Errorf("%+v", r)
		}
		r.print(&out, options{tokens: 300, cacheType: cache})
		if !strings.Contains(out.String(), "| after a restart |") {
			t.Error(out.String())
		}
	}
	if err := run([]string{"-tokens", "3", path}, new(strings.Builder)); err == nil {
		t.Error("a prompt of three tokens is taken")
	}
}
