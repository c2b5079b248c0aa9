package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
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
		Long: `Lists the models in the store: what was pulled, and model files that lie there. Pulls
that did not end are told of below them, and not in JSON.`,
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
			if err := a.printModels(store.Dir, list); err != nil {
				return err
			}
			return a.printUnfinished(store)
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

// printUnfinished tells of pulls that did not end, and what they take of the disk.
func (a *app) printUnfinished(store hub.Store) error {
	halves, err := store.Halves()
	if err != nil || len(halves) == 0 {
		return err
	}
	fmt.Fprintln(a.out, "\nNot pulled to their end; quern pull MODEL goes on, quern rm --unfinished removes what has arrived:")
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, h := range halves {
		now := ""
		if h.Busy {
			now = "being pulled"
		}
		fmt.Fprintf(w, "%s\t%s of %s\t%s\n", terminal.Plain(h.Ref.String()), humanize.Bytes(uint64(h.Have)), humanize.Bytes(uint64(h.Size)), now)
	}
	return w.Flush()
}

func (a *app) rmCmd() *cobra.Command {
	var yes, unfinished bool
	cmd := &cobra.Command{
		Use:   "rm MODEL...",
		Short: "Remove models from the store",
		Long: `Removes models from the store, after asking. OWNER/NAME removes every model of a
repository and what is left of pulls that did not end; OWNER/NAME:QUANT and
OWNER/NAME/FILE remove one model. Files that belong to no model stay, and so does
everything outside the store.

--unfinished removes only what is left of pulls that did not end, of all repositories
or of those named, and nothing that is being pulled.`,
		Example: `  quern rm bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0
  quern rm --yes bartowski/Llama-3.2-1B-Instruct-GGUF
  quern rm --unfinished`,
		Args: func(cmd *cobra.Command, args []string) error {
			if unfinished {
				return nil
			}
			return someModels(cmd, args)
		},
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
			if unfinished {
				return a.removeUnfinished(store, refs, yes, answers)
			}
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
	f.BoolVar(&unfinished, "unfinished", false, "remove what is left of pulls that did not end")
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
		if err := a.sure(plan.Bytes, answers); err != nil {
			return err
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

// sure asks whether so many bytes are to go; an error says no.
func (a *app) sure(bytes int64, answers *bufio.Scanner) error {
	fmt.Fprintf(a.out, "Remove %s? [y/N] ", humanize.Bytes(uint64(bytes)))
	if !answers.Scan() {
		fmt.Fprintln(a.out)
		return usageError{errors.New("nothing was removed: no answer on standard input; --yes does not ask")}
	}
	switch strings.ToLower(strings.TrimSpace(answers.Text())) {
	case "y", "yes":
		return nil
	}
	fmt.Fprintln(a.out, "Nothing was removed.")
	return exitError{exitFailure}
}

// removeUnfinished removes what is left of pulls that did not end and are not under way, of
// the repositories of refs, or of all.
func (a *app) removeUnfinished(store hub.Store, refs []hub.Ref, yes bool, answers *bufio.Scanner) error {
	halves, err := store.Halves()
	if err != nil {
		return err
	}
	halves = slices.DeleteFunc(halves, func(h hub.Half) bool {
		same := func(r hub.Ref) bool { return r.Repo() == h.Ref.Repo() }
		return h.Busy || len(refs) > 0 && !slices.ContainsFunc(refs, same)
	})
	var bytes int64
	for _, h := range halves {
		bytes += h.Have
	}
	if len(halves) == 0 {
		_, err := fmt.Fprintln(a.out, "no pull was left unfinished")
		return err
	}
	if !yes {
		for _, h := range halves {
			fmt.Fprintf(a.out, "  %s, %s of %s\n", terminal.Plain(h.Ref.String()), humanize.Bytes(uint64(h.Have)), humanize.Bytes(uint64(h.Size)))
		}
		if err := a.sure(bytes, answers); err != nil {
			return err
		}
	}
	gone := map[string]bool{}
	for _, h := range halves {
		if gone[h.Ref.Repo()] {
			continue // with the first of its repository
		}
		gone[h.Ref.Repo()] = true
		n, err := store.Discard(h.Ref)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "removed what was left unfinished of %s: %s\n", h.Ref.Repo(), humanize.Bytes(uint64(n)))
	}
	return nil
}
