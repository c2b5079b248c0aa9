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
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"quern/engine/grammar"
	"quern/engine/grammar/gbnf"
	"quern/engine/token"
)

type options struct {
	vocab, fixtures, only string
	texts                 int
	slow                  time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.vocab, "vocab", filepath.Join("..", "shared", "fixtures", "vocab", "llama3"), "`folder` with encoder.json and vocab.bpe")
	flag.StringVar(&o.fixtures, "fixtures", filepath.Join("..", "shared", "fixtures"), "`folder` with grammars and schemas")
	flag.StringVar(&o.only, "only", "", "run only the sets whose name contains this")
	flag.IntVar(&o.texts, "texts", 400, "texts of each set, at most")
	flag.DurationVar(&o.slow, "slow", 0, "print masks that take longer")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "grammar:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, o options) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	vocab, err := readVocab(o.vocab)
	if err != nil {
		return err
	}
	sets, err := readSets(o.fixtures, o.texts)
	if err != nil {
		return err
	}
	began := threadTime()
	trie, err := grammar.NewTrie(source(vocab))
	if err != nil {
		return err
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(out, "%d tokens, trie in %.0f ms; thread CPU time; load average %s\n\n", vocab.Size(), ms(threadTime()-began), strings.TrimSpace(string(load)))
	fmt.Fprint(out, "| set | grammars | compile ms p50 / p99 / max | masks | mask µs p50 / p99 / max, new grammar | again | accept µs p50 / p99 | allocations a mask, again |\n|---|---:|---|---:|---|---|---|---:|\n")
	for _, s := range sets {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		r, err := measure(s, trie, vocab, o.slow)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(out, "| %s | %d | %s | %d | %s | %s | %s | %.2f |\n", s.name, len(r.compile), three(r.compile, 1e6), len(r.cold), three(r.cold, 1e3), three(r.warm, 1e3), three(r.accept, 1e3), r.allocs)
	}
	return nil
}

// threadTime is the CPU time of this thread, or of the clock where there is none.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
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
}

func measure(s set, trie *grammar.Trie, vocab *token.Vocab, slow time.Duration) (*result, error) {
	r := &result{}
	mask := make([]uint32, trie.Words())
	var masks, allocs uint64
	for _, c := range s.cases {
		began := threadTime()
		b := grammar.NewBuilder(grammar.Limits{})
		root, err := c.build(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.id, err)
		}
		g, err := b.Compile(root, trie)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.id, err)
		}
		r.compile = append(r.compile, threadTime()-began)
		var ids []token.ID
		for _, text := range c.texts {
			ids = vocab.Encode(ids[:0], text, false)
			for _, times := range []*[]time.Duration{&r.cold, &r.warm} {
				if err := read(g.New(), ids, mask, func(place int, m, a time.Duration) {
					*times = append(*times, m)
					r.accept = append(r.accept, a)
					if slow > 0 && m > slow {
						fmt.Printf("%s: %v at %d of %.300q\n", c.id, m, place, text)
					}
				}); err != nil {
					return nil, fmt.Errorf("%s: %w", c.id, err)
				}
			}
			// Once more to count allocations: those of a State that has been here.
			st := g.New()
			for _, id := range ids {
				if err := st.Accept(int32(id)); err != nil {
					return nil, err
				}
				if err := st.Mask(mask); err != nil {
					return nil, err
				}
			}
			st.Rollback(len(ids))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, id := range ids {
				if err := st.Mask(mask); err != nil {
					return nil, err
				}
				if err := st.Accept(int32(id)); err != nil {
					return nil, err
				}
			}
			runtime.ReadMemStats(&after)
			masks += uint64(len(ids))
			allocs += after.Mallocs - before.Mallocs
		}
	}
	r.allocs = float64(allocs) / float64(max(masks, 1))
	return r, nil
}

// read goes through a text, with a mask before each token and one at the end.
func read(s *grammar.State, ids []token.ID, mask []uint32, note func(place int, mask, accept time.Duration)) error {
	for i, id := range ids {
		t0 := threadTime()
		if err := s.Mask(mask); err != nil {
			return err
		}
		t1 := threadTime()
		if mask[id>>5]>>(id&31)&1 == 0 {
			return fmt.Errorf("token %d of %d is barred", i, len(ids))
		}
		if err := s.Accept(int32(id)); err != nil {
			return err
		}
		note(i, t1-t0, threadTime()-t1)
	}
	if !s.MayEnd() {
		return fmt.Errorf("the text may not end")
	}
	return nil
}

func readSets(dir string, most int) ([]set, error) {
	var sets []set
	grammars := set{name: "gbnf.jsonl"}
	err := lines(filepath.Join(dir, "grammars", "gbnf.jsonl"), func(line []byte) error {
		var f struct {
			ID, Grammar, Root string
			Accept            []string
		}
		if err := json.Unmarshal(line, &f); err != nil || len(f.Accept) == 0 {
			return err
		}
		grammars.cases = append(grammars.cases, sample{f.ID, fromGBNF(f.Grammar, f.Root), f.Accept})
		return nil
	})
	if err != nil {
		return nil, err
	}
	sets = append(sets, grammars)
	files, err := filepath.Glob(filepath.Join(dir, "schemas", "maskbench-*.jsonl"))
	if err != nil {
		return nil, err
	}
	anyJSON := set{name: "any JSON"}
	for _, file := range files {
		err := lines(file, func(line []byte) error {
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
		})
		if err != nil {
			return nil, err
		}
	}
	return append(sets, anyJSON), nil
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
func readVocab(dir string) (*token.Vocab, error) {
	text, err := os.ReadFile(filepath.Join(dir, "encoder.json"))
	if err != nil {
		return nil, err
	}
	var ids map[string]int
	if err := json.Unmarshal(text, &ids); err != nil {
		return nil, err
	}
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
	if text, err = os.ReadFile(filepath.Join(dir, "vocab.bpe")); err != nil {
		return nil, err
	}
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
