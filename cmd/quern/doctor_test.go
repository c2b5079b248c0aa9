package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// The doctor's words and JSON say the same, and a mistake in the configuration is a failure.
func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	write(t, good, "model_dirs: ["+dir+"]\njobs: {dir: "+dir+"/jobs}\nprefix_cache: {dir: "+dir+"/cache}\naudit: {file: "+dir+"/audit.log}")
	write(t, bad, "lisen: :80")
	code, text, errs := quern(t, "", nil, "doctor", "--config", good, "--json")
	var list []struct{ What, State, Found, Fix string }
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != 0 || errs != "" {
		t.Fatalf("exit code %d, %v: %s%s", code, err, text, errs)
	}
	seen := map[string]bool{}
	for _, f := range list {
		seen[f.What] = true
		if f.State == "broken" {
			t.Errorf("%+v", f)
		}
	}
	for _, what := range []string{"configuration", "CPU level", "memory bandwidth", "GPU", "folder of models", "folder of temporary files", "folder of batches", "folder of the prefix cache", "folder of the audit log"} {
		if !seen[what] {
			t.Errorf("nothing about %s", what)
		}
	}
	// The rest does not measure memory again.
	doctor := func(config string) (int, string) {
		var out bytes.Buffer
		a := &app{out: &out, err: io.Discard, bandwidth: func(int) (float64, error) { return 30e9, nil }}
		return a.main(t.Context(), []string{"doctor", "--config", config}), out.String()
	}
	write(t, good, "prefix_cache: {dir: "+good+"/cache}") // below a file
	if code, text := doctor(good); code != 1 || !strings.Contains(text, "broken  folder of the prefix cache") || !strings.Contains(text, "prefix_cache.dir") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if code, text := doctor(bad); code != 1 || !strings.Contains(text, "broken  configuration") || !strings.Contains(text, "lisen") || !strings.Contains(text, "→") {
		t.Errorf("exit code %d: %s", code, text)
	}
}
