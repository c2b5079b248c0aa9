package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/engine/hub"
)

func (a *app) rmCmd() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "rm MODEL...",
		Short: "Remove models from the store",
		Long: `Removes models from the store, after asking. OWNER/NAME removes every model of a
repository and what is left of pulls that did not end; OWNER/NAME:QUANT and
OWNER/NAME/FILE remove one model. Files that belong to no model stay, and so does
everything outside the store.`,
		Example: `  quern rm bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0
  quern rm --yes bartowski/Llama-3.2-1B-Instruct-GGUF`,
		Args: someModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			refs, err := parseRefs(args, "")
			if err != nil {
				return err
			}
			store, err := a.store(cmd)
			if err != nil {
				return err
			}
			answers := bufio.NewScanner(a.in)
			for _, r := range refs {
				if err := a.remove(store, r, yes, answers); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	settings.AddFlags(cmd)
	return cmd
}

func (a *app) remove(store hub.Store, r hub.Ref, yes bool, answers *bufio.Scanner) error {
	plan, err := store.Removal(r)
	if err != nil {
		return err
	}
	if !yes {
		fmt.Fprintf(a.out, "%s in %s:\n", r, plain(store.Dir))
		for i, f := range plan.Files {
			if i == maxRows {
				fmt.Fprintf(a.out, "  … %d files in all\n", len(plan.Files))
				break
			}
			fmt.Fprintf(a.out, "  %s\n", plain(f))
		}
		fmt.Fprintf(a.out, "Remove %s? [y/N] ", humanize.Bytes(uint64(plan.Bytes)))
		if !answers.Scan() {
			fmt.Fprintln(a.out)
			return usageError{errors.New("nothing was removed: nobody answered; --yes does not ask")}
		}
		switch strings.ToLower(strings.TrimSpace(answers.Text())) {
		case "y", "yes":
		default:
			fmt.Fprintln(a.out, "Nothing was removed.")
			return exitError{exitFailure}
		}
	}
	done, err := store.Remove(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "removed %s: %s\n", r, humanize.Bytes(uint64(done.Bytes)))
	for _, f := range done.Left {
		fmt.Fprintf(a.out, "  left %s, which is no part of a model\n", plain(f))
	}
	return nil
}
