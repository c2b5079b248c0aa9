// Command ggufgen writes model files with random weights in the shape of well
// known models, for benchmarks that need real sizes but no download:
//
//	go run ./bench/ggufgen -shape tinyllama-1.1b -type Q4_K_M -o tinyllama.gguf
//
// Every file is of the Llama architecture, has a SentencePiece vocabulary and
// a chat template, and loads in quern and in llama.cpp. What it says is
// gibberish. The same flags give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"quern/formats/gguf"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ggufgen:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("ggufgen", flag.ContinueOnError)
	shapeName := flags.String("shape", "tinyllama-1.1b", "model to imitate: "+strings.Join(names(shapes, func(s shape) string { return s.name }), ", "))
	typeName := flags.String("type", "Q4_K_M", "mixture of number types: "+strings.Join(names(mixes, func(m mix) string { return m.name }), ", "))
	layers := flags.Int("layers", 0, "number of layers, 0 for the model's own")
	seed := flags.Uint64("seed", 1, "seed of the random weights")
	path := flags.String("o", "", "file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
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
	if *path == "" || flags.NArg() > 0 {
		return errors.New("want -o FILE and no other arguments")
	}
	start := time.Now()
	size, err := writeFile(*path, s, m, *seed)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s %s, %.1f MB in %s\n", *path, s.name, m.name, float64(size)/1e6, time.Since(start).Round(time.Millisecond))
	return nil
}

// writeFile writes beside path and renames, so that nobody who has the old
// file mapped sees it change.
func writeFile(path string, s shape, m mix, seed uint64) (size int64, err error) {
	tmp := path + ".part"
	f, err := os.Create(tmp)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(tmp)
		}
	}()
	if err := gguf.Write(f, metadata(s, m), tensors(s, m, seed)); err != nil {
		return 0, err
	}
	if size, err = f.Seek(0, io.SeekCurrent); err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	return size, os.Rename(tmp, path)
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
