package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"quern/bench/internal/stat"
	"quern/engine"
	"quern/engine/constrain"
	"quern/engine/token"
)

// A share says how many tokens of texts are forced by their schemas.
type share struct {
	texts, tokens, forced, runs int
	steps                       int // to write the texts: one for each drawn token, or for what is forced at the beginning
	other                       int // runs that are not what the whole text is split into
	asked                       int
	took                        time.Duration // of thread CPU, to ask
}

// forced reads the schemas' texts as a reply would come that is split as the text is, and counts
// what of them costs no step of its own.
func forced(out io.Writer, vocab *token.Vocab, dir string, most int) error {
	files, err := filepath.Glob(filepath.Join(dir, "schemas", "maskbench-*.jsonl"))
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\n| schemas | texts | tokens | forced | runs | tokens a step | runs split otherwise | µs a draw |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	c := constrain.New(vocab)
	var all share
	row := func(name string, s share) {
		fmt.Fprintf(out, "| %s | %d | %d | %d = %.1f %% | %d | %.3f | %d | %.2f |\n", name, s.texts, s.tokens, s.forced, 100*float64(s.forced)/float64(max(1, s.tokens)),
			s.runs, float64(s.tokens)/float64(max(1, s.steps)), s.other, float64(s.took)/1e3/float64(max(1, s.asked)))
	}
	for _, file := range files {
		var s share
		n := 0
		err := lines(file, func(line []byte) error {
			var f struct {
				Schema json.RawMessage
				Tests  []struct {
					Valid bool
					Order *bool
					Data  json.RawMessage
				}
			}
			if err := json.Unmarshal(line, &f); err != nil || n >= most {
				return err
			}
			n++
			g, err := c.Compile(context.Background(), &engine.Constraint{Form: engine.FormSchema, Source: string(f.Schema)})
			if err != nil {
				return nil // the other table counts what is refused
			}
			for _, t := range f.Tests {
				if t.Valid && len(t.Data) > 0 && (t.Order == nil || *t.Order) {
					s.read(g, vocab.Encode(nil, string(t.Data), false))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		row(filepath.Base(file), s)
		all.add(s)
	}
	row("all", all)
	return nil
}

func (s *share) add(o share) {
	s.texts += o.texts
	s.tokens += o.tokens
	s.forced += o.forced
	s.runs += o.runs
	s.steps += o.steps
	s.other += o.other
	s.asked += o.asked
	s.took += o.took
}

func (s *share) read(g *constrain.Grammar, ids []token.ID) {
	m := g.Mask()
	s.texts++
	s.tokens += len(ids)
	var run []token.ID
	for i := 0; i < len(ids); {
		began := stat.ThreadTime()
		run = m.Forced(run[:0], ids[max(0, i-16):i])
		s.took += stat.ThreadTime() - began
		s.asked++
		switch {
		case len(run) == 0:
		case !slices.Equal(run, ids[i:min(len(ids), i+len(run))]):
			s.other++
		default:
			s.runs++
			s.forced += len(run)
			if i == 0 {
				s.steps++
			}
			for _, id := range run {
				if m.Accept(id) != nil {
					return
				}
			}
			i += len(run)
		}
		if i < len(ids) {
			s.steps++
			if m.Accept(ids[i]) != nil {
				return
			}
			i++
		}
	}
}
