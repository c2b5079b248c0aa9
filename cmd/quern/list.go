package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/engine/hub"
)

// listEntry is one model of `quern list --json`.
type listEntry struct {
	Ref      string    `json:"ref,omitempty"` // what --model hub: and rm take
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
		_, err := fmt.Fprintf(a.out, "no models in %s; fetch one: quern pull OWNER/NAME\n", plain(dir))
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", plain(name), m.Kind, m.Quant, humanize.Bytes(uint64(m.Size)), humanize.Time(m.Modified))
		total += m.Size
	}
	fmt.Fprintf(w, "%d in %s\t\t\t%s\t\n", len(list), plain(dir), humanize.Bytes(uint64(total)))
	return w.Flush()
}
