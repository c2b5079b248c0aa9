// Command infill writes the built-in model with three of its tokens made those that fill in
// the middle, for tests of clients: what it fills in is gibberish.
//
//	go run ./bench/infill FILE.gguf
package main

import (
	"errors"
	"os"

	"quern/bench/internal/must"
	"quern/engine/builtin"
	"quern/engine/token"
	"quern/formats/gguf"
)

func main() {
	must.End("infill", run(os.Args[1:]))
}

func run(args []string) (err error) {
	defer must.Catch(&err)
	if len(args) != 1 {
		return errors.New("want the file to write")
	}
	set := must.Get(gguf.Parse(builtin.GGUF()))
	defer set.Close()
	spec := must.Get(token.From(&set.Meta))
	last := int64(len(spec.Tokens) - 1) // the rarest come last
	for i, role := range []string{"pre", "suf", "mid"} {
		set.Meta.Set("tokenizer.ggml.fim_"+role+"_token_id", last-int64(i))
	}
	set.Meta.Set("general.name", "quern-tiny-infill")
	var tensors []gguf.Stream
	for t := range set.All() {
		tensors = append(tensors, gguf.StreamOf(t))
	}
	f := must.Get(os.Create(args[0]))
	defer f.Close()
	must.Do(gguf.Write(f, &set.Meta, tensors))
	return f.Close()
}
