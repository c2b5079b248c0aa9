package schema

import (
	"path/filepath"
	"testing"
	"time"
	"strings"
	"fmt"
	"sort"

	"quern/bench/fixtures"
	"quern/engine/grammar"
)

func TestSlow(t *testing.T) {
	dir := fixtures.Path(t, "schemas")
	trie := byteTrie(t)
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	type r struct{ a, b time.Duration; id string; err error }
	var all []r
	for _, path := range files {
		if strings.HasSuffix(path, "refuse.jsonl") { continue }
		for _, x := range readFixtures(t, path) {
			t0 := time.Now()
			b := grammar.NewBuilder(grammar.Limits{})
			n, _, err := Add(b, x.Schema, Options{})
			t1 := time.Now()
			if err == nil { _, err = b.Compile(n, trie) }
			all = append(all, r{t1.Sub(t0), time.Since(t1), x.ID, err})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].a+all[i].b > all[j].a+all[j].b })
	for _, x := range all[:60] { fmt.Println(x.a.Round(time.Microsecond), x.b.Round(time.Microsecond), x.id, x.err) }
	n := len(all)
	fmt.Println("median", all[n/2].a+all[n/2].b, "p99", all[n/100].a+all[n/100].b)
}
