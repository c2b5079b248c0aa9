package peer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A script answers line by line; its error is ours, and the next line is answered again.
func TestAsk(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "peer.mjs")
	const text = `import { createInterface } from "node:readline"
for await (const line of createInterface({ input: process.stdin })) {
  const q = JSON.parse(line)
  console.log(JSON.stringify(q.N < 0 ? { error: "negative" } : { twice: 2 * q.N }))
}`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start[int, int](script, dir, "x"); err == nil {
		t.Error("started without node_modules")
	}
	if err := os.Mkdir(filepath.Join(dir, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Start[struct{ N int }, struct{ Twice int }](script, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{3: 6, -1: 0, 4: 8} {
		a, err := p.Ask(struct{ N int }{n})
		if a.Twice != want || (err != nil) != (n < 0) {
			t.Errorf("twice %d is %d, %v", n, a.Twice, err)
		}
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
