package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/hub"
)

// listEntry is one model of `quern list --json`.
type listEntry struct {
	Ref      string    `json:"ref,omitempty"` // as --model hub: and rm take it
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Quant    string    `json:"quant,omitempty"`
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Files    []string  `json:"files"`
	Modified time.Time `json:"modified"`
	Revision string    `json:"revision,omitempty"`
	Commit   string    `json:"commit,omitempty"`
}

func (a *app) listCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the models in the store",
		Long: `Lists the models in the store: what was pulled, and model files that lie there. A
model that was not pulled to its end is not listed.`,
		Example: `  quern list
  quern list --models /srv/models
  quern list --json | jq -r '.[].ref'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.store(cmd)
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			if asJSON {
				out := []listEntry{}
				for _, m := range list {
					e := listEntry{ID: m.ID, Kind: m.Kind, Quant: m.Quant, Path: m.Path, Bytes: m.Size, Files: m.Files,
						Modified: m.Modified, Revision: m.Revision, Commit: m.Commit}
					if m.Ref.Owner != "" {
						e.Ref = m.Ref.String()
					}
					out = append(out, e)
				}
				return writeJSON(a.out, out)
			}
			return a.printModels(store.Dir, list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	settings.AddFlags(cmd)
	return cmd
}

func (a *app) printModels(dir string, list []hub.Model) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(a.out, "no models in %s; fetch one: quern pull OWNER/NAME\n", terminal.Plain(dir))
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tKIND\tQUANT\tSIZE\tCHANGED")
	var total int64
	for _, m := range list {
		name := m.ID
		if m.Ref.Owner != "" {
			name = m.Ref.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", terminal.Plain(name), m.Kind, m.Quant, humanize.Bytes(uint64(m.Size)), humanize.Time(m.Modified))
		total += m.Size
	}
	fmt.Fprintf(w, "%d in %s\t\t\t%s\t\n", len(list), terminal.Plain(dir), humanize.Bytes(uint64(total)))
	return w.Flush()
}

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
		fmt.Fprintf(a.out, "%s in %s:\n", r, terminal.Plain(store.Dir))
		for i, f := range plan.Files {
			if i == maxRows {
				fmt.Fprintf(a.out, "  … %d files in all\n", len(plan.Files))
				break
			}
			fmt.Fprintf(a.out, "  %s\n", terminal.Plain(f))
		}
		fmt.Fprintf(a.out, "Remove %s? [y/N] ", humanize.Bytes(uint64(plan.Bytes)))
		if !answers.Scan() {
			fmt.Fprintln(a.out)
			return usageError{errors.New("nothing was removed: no answer on standard input; --yes does not ask")}
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
		fmt.Fprintf(a.out, "  left %s, which is no part of a model\n", terminal.Plain(f))
	}
	return nil
}
