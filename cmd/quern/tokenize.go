package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/engine"
	"quern/engine/token"
)

type tokenizeOptions struct {
	model                        string
	json, ids, decode, noSpecial bool
}

func (a *app) tokenizeCmd() *cobra.Command {
	var o tokenizeOptions
	cmd := &cobra.Command{
		Use:   "tokenize [TEXT...]",
		Short: "Show the tokens of a text",
		Long: `Prints the tokens of TEXT, or of standard input, as a table of ids and pieces.
With --decode it goes the other way: the arguments are token ids.`,
		Example: `  quern tokenize Hello world
  quern tokenize --model model.gguf --ids < prompt.txt
  quern tokenize --decode 735 1766`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.tokenize(cmd, args, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.model, "model", "m", "", "model `file` or name (default the default model)")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.ids, "ids", false, "print only the ids, on one line")
	f.BoolVar(&o.decode, "decode", false, "turn ids into text")
	f.BoolVar(&o.noSpecial, "no-special", false, "leave out the tokens the model puts around a text (BOS, EOS)")
	settings.Group(f, "model", settings.Models)
	settings.AddFlags(cmd)
	return cmd
}

func (a *app) tokenize(cmd *cobra.Command, args []string, o tokenizeOptions) error {
	for _, pair := range [][]string{{"json", "ids"}, {"decode", "ids"}} {
		if err := exclusive(cmd, pair...); err != nil {
			return err
		}
	}
	if o.decode {
		if err := idle(cmd, "ids are taken as they are", "no-special"); err != nil {
			return err
		}
	}
	text := strings.Join(args, " ")
	if len(args) == 0 || isInput(args) {
		var err error
		if text, err = a.readInput(); err != nil {
			return err
		}
	}
	var ids []token.ID
	if o.decode {
		var err error
		if ids, err = parseIDs(text); err != nil {
			return usageError{err}
		}
	}
	ctx, stop := signals(cmd.Context(), stopSignals()...)
	defer stop()
	e, lease, err := a.openModel(ctx, cmd, o.model, "")
	if err != nil {
		return err
	}
	defer e.Close()
	defer lease.Release()
	if o.decode {
		pieces, err := lease.Detokenize(ctx, ids)
		if err != nil {
			return err
		}
		var b strings.Builder
		for p := range pieces {
			b.Write(p)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text := b.String()
		if o.json {
			return writeJSON(a.out, map[string]any{"text": text})
		}
		_, err = fmt.Fprintln(a.out, text)
		return err
	}
	r, err := lease.Tokenize(ctx, engine.TokenizeRequest{
		Prompt:     engine.Prompt{Text: text},
		AddSpecial: !o.noSpecial,
	})
	if err != nil {
		return err
	}
	return a.printTokens(r, o)
}

// parseIDs reads token ids separated by spaces or commas; brackets around them
// are fine, so that an array of them can be pasted.
func parseIDs(text string) ([]token.ID, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,[]", r) })
	if len(words) == 0 {
		return nil, errors.New("--decode needs token ids")
	}
	var ids []token.ID
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no token id", w)
		}
		ids = append(ids, token.ID(n))
	}
	return ids, nil
}

func (a *app) printTokens(r engine.TokenizeResult, o tokenizeOptions) error {
	var b strings.Builder
	switch {
	case o.json:
		type entry struct {
			ID    token.ID `json:"id"`
			Piece string   `json:"piece"`
			Bytes []int    `json:"bytes"`
		}
		out := struct {
			Count  int     `json:"count"`
			Tokens []entry `json:"tokens"`
		}{len(r.Tokens), []entry{}}
		for _, id := range r.Tokens {
			piece := r.Bytes(id)
			// A list of numbers: a piece need not be valid UTF-8, and the string
			// beside it then shows a replacement character.
			bytes := make([]int, len(piece))
			for j, c := range piece {
				bytes[j] = int(c)
			}
			out.Tokens = append(out.Tokens, entry{id, string(piece), bytes})
		}
		return writeJSON(a.out, out)
	case o.ids:
		for i, id := range r.Tokens {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, id)
		}
		b.WriteByte('\n')
	default:
		for _, id := range r.Tokens {
			fmt.Fprintf(&b, "%8d  %q\n", id, r.Bytes(id))
		}
		fmt.Fprintf(&b, "%d tokens\n", len(r.Tokens))
	}
	_, err := fmt.Fprint(a.out, b.String())
	return err
}
