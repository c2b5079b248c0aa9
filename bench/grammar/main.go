// Command grammar measures constrained decoding as MaskBench does: each grammar is
// compiled, and then a text that fits it is read token by token, with one mask
// before each token. Times are of the thread's CPU, so they hold on a busy machine.
// Run it from the root of the repository:
//
//	go run ./bench/grammar -vocab ../shared/fixtures/vocab/llama3 -fixtures ../shared/fixtures
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/engine/grammar"
	"quern/engine/grammar/gbnf"
	"quern/engine/grammar/schema"
	"quern/engine/token"
)

type options struct {
	vocab, fixtures, only, id, profile string
	most                               int
	slow                               time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.vocab, "vocab", filepath.Join("..", "shared", "fixtures", "vocab", "llama3"), "`folder` with encoder.json and vocab.bpe")
	flag.StringVar(&o.fixtures, "fixtures", filepath.Join("..", "shared", "fixtures"), "`folder` with grammars and schemas")
	flag.StringVar(&o.only, "only", "", "run only the sets whose name contains this")
	flag.StringVar(&o.id, "id", "", "run only the grammars whose id contains one of these, apart by commas")
	flag.StringVar(&o.profile, "profile", "", "write a profile of the CPU to this `file`")
	flag.IntVar(&o.most, "most", 400, "grammars of each set, at most")
	flag.DurationVar(&o.slow, "slow", 0, "print masks and grammars that take longer")
	flag.Parse()
	must.End("grammar", run(os.Stdout, o))
}

func run(out io.Writer, o options) (err error) {
	defer must.Catch(&err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	vocab := must.Get(readVocab(o.vocab))
	sets := must.Get(readSets(o.fixtures, o.most))
	began := stat.ThreadTime()
	trie := must.Get(grammar.NewTrie(source(vocab)))
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(out, "%d tokens, trie in %.0f ms; thread CPU time; load average %s\n\n", vocab.Size(), ms(stat.ThreadTime()-began), strings.TrimSpace(string(load)))
	fmt.Fprint(out, "| set | grammars | refused | texts barred | compile ms p50 / p99 / max | masks | mask µs p50 / p99 / max, new grammar | again | accept µs p50 / p99 / max | allocations a mask, again |\n|---|---:|---:|---:|---|---:|---|---|---|---:|\n")
	row := func(name string, r *result) {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %s | %d | %s | %s | %s | %.2f |\n", name, len(r.compile), r.refused, r.failed,
			three(r.compile, 1e6), len(r.cold), three(r.cold, 1e3), three(r.warm, 1e3), three(r.accept, 1e3), r.allocs)
	}
	if o.profile != "" {
		f := must.Get(os.Create(o.profile))
		defer f.Close()
		must.Do(pprof.StartCPUProfile(f))
		defer pprof.StopCPUProfile()
	}
	var schemas result
	for _, s := range sets {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		s.cases = slices.DeleteFunc(s.cases, func(c sample) bool { return !containsAny(c.id, strings.Split(o.id, ",")) })
		r, err := measure(s, trie, vocab, o.slow)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		row(s.name, r)
		if strings.HasPrefix(s.name, "maskbench") {
			schemas.add(r)
		}
	}
	row("all schemas", &schemas)
	return forced(out, vocab, o.fixtures, o.most)
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// three spells the median, the 99th percentile and the maximum.
func three(v []time.Duration, unit float64) string {
	if len(v) == 0 {
		return "–"
	}
	v = slices.Sorted(slices.Values(v))
	at := func(p float64) float64 { return float64(v[int(p*float64(len(v)-1))]) / unit }
	return fmt.Sprintf("%.4g / %.4g / %.4g", at(0.5), at(0.99), at(1))
}

// A set is a list of grammars with texts that fit them.
type set struct {
	name  string
	cases []sample
}

type sample struct {
	id    string
	build func(b *grammar.Builder) (*grammar.Node, error)
	texts []string
}

type result struct {
	compile, cold, warm, accept []time.Duration
	allocs                      float64
	refused, failed             int
}

// add joins what was measured of another set.
func (r *result) add(s *result) {
	masks := float64(len(r.warm))
	r.allocs = (r.allocs*masks + s.allocs*float64(len(s.warm))) / max(1, masks+float64(len(s.warm)))
	r.compile, r.accept = append(r.compile, s.compile...), append(r.accept, s.accept...)
	r.cold, r.warm = append(r.cold, s.cold...), append(r.warm, s.warm...)
	r.refused += s.refused
	r.failed += s.failed
}

func measure(s set, trie *grammar.Trie, vocab *token.Vocab, slow time.Duration) (*result, error) {
	r := &result{}
	mask := make([]uint32, trie.Words())
	var masks, allocs uint64
	for _, c := range s.cases {
		began := stat.ThreadTime()
		b := grammar.NewBuilder(grammar.Limits{})
		root, err := c.build(b)
		var g *grammar.Grammar
		if err == nil {
			g, err = b.Compile(root, trie)
		}
		if err != nil {
			r.refused++
			continue
		}
		took := stat.ThreadTime() - began
		r.compile = append(r.compile, took)
		if slow > 0 && took > slow {
			fmt.Printf("%s: compiled in %v\n", c.id, took)
		}
		var ids []token.ID
		for _, text := range c.texts {
			ids = vocab.Encode(ids[:0], text, false)
			n, err := readTwice(r, g, ids, mask, func(place int, m time.Duration) {
				if slow > 0 && m > slow {
					fmt.Printf("%s: %v at %d of %.300q\n", c.id, m, place, text)
				}
			})
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", c.id, err)
				r.failed++
				continue
			}
			masks += uint64(len(ids))
			allocs += n
		}
	}
	r.allocs = float64(allocs) / float64(max(masks, 1))
	return r, nil
}

// readTwice reads a text with two States, and once more with one that has been there,
// of which it returns the allocations.
func readTwice(r *result, g *grammar.Grammar, ids []token.ID, mask []uint32, note func(place int, mask time.Duration)) (uint64, error) {
	var s *grammar.State
	for _, times := range []*[]time.Duration{&r.cold, &r.warm} {
		s = g.New()
		if err := read(s, ids, mask, func(place int, m, a time.Duration) {
			*times = append(*times, m)
			r.accept = append(r.accept, a)
			note(place, m)
		}); err != nil {
			return 0, err
		}
	}
	s.Rollback(len(ids))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := read(s, ids, mask, func(int, time.Duration, time.Duration) {})
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, err
}

// read goes through a text, with a mask before each token and one at the end.
func read(s *grammar.State, ids []token.ID, mask []uint32, note func(place int, mask, accept time.Duration)) error {
	for i, id := range ids {
		t0 := stat.ThreadTime()
		if err := s.Mask(mask); err != nil {
			return err
		}
		t1 := stat.ThreadTime()
		if mask[id>>5]>>(id&31)&1 == 0 {
			return fmt.Errorf("token %d of %d is barred", i, len(ids))
		}
		if err := s.Accept(int32(id)); err != nil {
			return err
		}
		note(i, t1-t0, stat.ThreadTime()-t1)
	}
	if !s.MayEnd() {
		return fmt.Errorf("the text may not end")
	}
	return nil
}

func readSets(dir string, most int) (_ []set, err error) {
	defer must.Catch(&err)
	var sets []set
	grammars := set{name: "gbnf.jsonl"}
	must.Do(lines(filepath.Join(dir, "grammars", "gbnf.jsonl"), func(line []byte) error {
		var f struct {
			ID, Grammar, Root string
			Accept            []string
		}
		if err := json.Unmarshal(line, &f); err != nil || len(f.Accept) == 0 {
			return err
		}
		grammars.cases = append(grammars.cases, sample{f.ID, fromGBNF(f.Grammar, f.Root), f.Accept})
		return nil
	}))
	sets = append(sets, grammars)
	files := must.Get(filepath.Glob(filepath.Join(dir, "schemas", "maskbench-*.jsonl")))
	anyJSON := set{name: "any JSON"}
	for _, file := range files {
		must.Do(lines(file, func(line []byte) error {
			var f struct {
				ID    string
				Tests []struct {
					Valid bool
					Data  json.RawMessage
				}
			}
			if err := json.Unmarshal(line, &f); err != nil || len(anyJSON.cases) >= most {
				return err
			}
			for _, t := range f.Tests {
				if t.Valid && len(t.Data) > 0 {
					anyJSON.cases = append(anyJSON.cases, sample{f.ID, fromGBNF(jsonGrammar, ""), []string{string(t.Data)}})
					break
				}
			}
			return nil
		}))
	}
	sets = append(sets, anyJSON)
	for _, file := range files {
		s := must.Get(readSchemas(file, most))
		sets = append(sets, s)
	}
	return sets, nil
}

// readSchemas returns the schemas of a file with the texts that fit them in order.
func readSchemas(file string, most int) (set, error) {
	s := set{name: strings.TrimSuffix(filepath.Base(file), ".jsonl")}
	err := lines(file, func(line []byte) error {
		var f struct {
			ID     string
			Schema json.RawMessage
			Tests  []struct {
				Valid bool
				Order *bool
				Data  json.RawMessage
			}
		}
		if err := json.Unmarshal(line, &f); err != nil || len(s.cases) >= most {
			return err
		}
		c := sample{id: f.ID, build: func(b *grammar.Builder) (*grammar.Node, error) {
			n, _, err := schema.Add(b, f.Schema, schema.Options{})
			return n, err
		}}
		for _, t := range f.Tests {
			if t.Valid && len(t.Data) > 0 && (t.Order == nil || *t.Order) {
				c.texts = append(c.texts, string(t.Data))
			}
		}
		s.cases = append(s.cases, c)
		return nil
	})
	return s, err
}

func fromGBNF(text, root string) func(b *grammar.Builder) (*grammar.Node, error) {
	return func(b *grammar.Builder) (*grammar.Node, error) {
		return gbnf.Parse(b, text, gbnf.Options{Root: root})
	}
}

const jsonGrammar = `
root   ::= value
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair (ws "," ws pair)*)? ws "}"
pair   ::= string ws ":" ws value
array  ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws     ::= [ \t\n\r]*
`

func lines(file string, f func(line []byte) error) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		if err := f(line); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

// readVocab reads a byte-level vocabulary as Hugging Face once stored it, and adds
// an end token.
func readVocab(dir string) (_ *token.Vocab, err error) {
	defer must.Catch(&err)
	text := must.Get(os.ReadFile(filepath.Join(dir, "encoder.json")))
	var ids map[string]int
	must.Do(json.Unmarshal(text, &ids))
	type entry struct {
		text string
		id   int
	}
	var list []entry
	for text, id := range ids {
		list = append(list, entry{text, id})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	s := token.Spec{Model: "gpt2", Pre: "llama-bpe", IgnoreMerges: true}
	for _, e := range list {
		s.Tokens = append(s.Tokens, e.text)
		s.Kinds = append(s.Kinds, token.Normal)
	}
	s.Tokens = append(s.Tokens, "<|end_of_text|>")
	s.Kinds = append(s.Kinds, token.Control)
	s.Special = map[token.Role]token.ID{token.EOS: token.ID(len(list))}
	text = must.Get(os.ReadFile(filepath.Join(dir, "vocab.bpe")))
	for line := range strings.Lines(string(text)) {
		if a, b, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && !strings.HasPrefix(line, "#version") {
			s.Merges = append(s.Merges, [2]string{a, b})
		}
	}
	return token.New(s)
}

// source is what grammars need of a vocabulary.
func source(v *token.Vocab) grammar.Vocab {
	var out grammar.Vocab
	for id := range token.ID(v.Size()) {
		out.Bytes = append(out.Bytes, v.Bytes(id))
		switch v.Kind(id) {
		case token.Control, token.Unknown, token.Unused:
			out.Special = append(out.Special, int32(id))
		}
	}
	for _, id := range v.Ending() {
		out.EOG = append(out.EOG, int32(id))
	}
	return out
}
