// Command ggufgen writes model files with random weights in the shape of well
// known models, for benchmarks that need real sizes but no download:
//
//	go run ./bench/ggufgen -shape tinyllama-1.1b -type Q4_K_M -o tinyllama.gguf
//	go run ./bench/ggufgen -shape qwen3.5-0.8b -mtp -o qwen.gguf # with a layer that drafts
//	go run ./bench/ggufgen -shape bge-base -type Q8_0 -o bge.gguf # an encoder, which makes vectors
//
// Every file has a SentencePiece vocabulary and a chat template, and loads in quern and in
// llama.cpp. What it says is gibberish. The same flags give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/formats/gguf"
)

func main() {
	must.End("ggufgen", run(os.Args[1:], os.Stdout))
}

func run(args []string, stdout io.Writer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("ggufgen", flag.ContinueOnError)
	shapeName := flags.String("shape", "tinyllama-1.1b", "model to imitate: "+strings.Join(names(shapes, func(s shape) string { return s.name }), ", "))
	typeName := flags.String("type", "Q4_K_M", "mixture of number types: "+strings.Join(names(mixes, func(m mix) string { return m.name }), ", "))
	layers := flags.Int("layers", 0, "number of layers, 0 for the model's own")
	mtp := flags.Bool("mtp", false, "add a layer for multi-token prediction, which drafts: "+strings.Join(names(drafting(), func(s shape) string { return s.name }), ", "))
	seed := flags.Uint64("seed", 1, "seed of the random weights")
	path := flags.String("o", "", "file to write")
	must.Do(flags.Parse(args))
	s, ok := lookup(shapes, *shapeName, func(s shape) string { return s.name })
	if !ok {
		return fmt.Errorf("no shape %q", *shapeName)
	}
	m, ok := lookup(mixes, *typeName, func(m mix) string { return m.name })
	if !ok {
		return fmt.Errorf("no type %q", *typeName)
	}
	if *layers < 0 {
		return fmt.Errorf("%d layers", *layers)
	}
	if *layers > 0 {
		s.layers = *layers
	}
	if s.drafts = *mtp; s.drafts && !s.mayDraft() {
		return fmt.Errorf("files of shape %q have no layer that drafts; take -shape %s", s.name, strings.Join(names(drafting(), func(s shape) string { return s.name }), " or "))
	}
	if *path == "" || flags.NArg() > 0 {
		return errors.New("want -o FILE and no other arguments")
	}
	start := time.Now()
	size := must.Get(writeFile(*path, s, m, *seed))
	fmt.Fprintf(stdout, "%s: %s %s, %.1f MB in %s\n", *path, s.name, m.name, float64(size)/1e6, time.Since(start).Round(time.Millisecond))
	return nil
}

// writeFile writes beside path and renames, so that no process that has the old
// file mapped sees it change.
func writeFile(path string, s shape, m mix, seed uint64) (size int64, err error) {
	defer must.Catch(&err)
	tmp := path + ".part"
	f := must.Get(os.Create(tmp))
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(tmp)
		}
	}()
	must.Do(gguf.Write(f, metadata(s, m), tensors(s, m, seed)))
	size = must.Get(f.Seek(0, io.SeekCurrent))
	must.Do(f.Close())
	return size, os.Rename(tmp, path)
}

// drafting are the shapes that -mtp is for.
func drafting() []shape {
	return slices.DeleteFunc(slices.Clone(shapes), func(s shape) bool { return !s.mayDraft() })
}

func names[T any](table []T, name func(T) string) []string {
	out := make([]string, len(table))
	for i, v := range table {
		out[i] = name(v)
	}
	return out
}

func lookup[T any](table []T, want string, name func(T) string) (v T, ok bool) {
	for _, v := range table {
		if strings.EqualFold(name(v), want) {
			return v, true
		}
	}
	return v, false
}
