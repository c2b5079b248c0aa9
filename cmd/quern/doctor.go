package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/doctor"
	"quern/cmd/quern/internal/settings"
	"quern/engine/device"
	"quern/engine/measure"
	"quern/kernels"
	"quern/kernels/threads"
)

func (a *app) doctorCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what makes models slow on this machine, and say how to mend it",
		Long: `Looks at the configuration, the CPU's level, quota and governor, how fast memory is read,
huge pages, the GPU's driver, the folders that are written to (models, batches, prefix cache:
permissions, room, speed of 64 MiB once a file system), and limits of this process. It takes
a few seconds and loads no model.

The exit status is 1 when something does not work; what is only slow leaves it at 0.`,
		Example: `  quern doctor
  quern doctor --config /etc/quern/quern.yaml
  quern doctor --json | jq '.[] | select(.state != "ok")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.machine(cmd).Look()
			if asJSON {
				if err := writeJSON(a.out, found); err != nil {
					return err
				}
			} else {
				var text strings.Builder
				const columns = "%-6s  %-26s  %s\n" // as wide as the longest
				for _, f := range found {
					fmt.Fprintf(&text, columns, f.State, f.What, f.Found)
					if f.Fix != "" {
						fmt.Fprintf(&text, columns, "", "", "→ "+f.Fix)
					}
				}
				if _, err := fmt.Fprint(a.out, text.String()); err != nil {
					return err
				}
			}
			for _, f := range found {
				if f.State == doctor.Broken {
					return exitError{exitFailure}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	settings.AddFlags(cmd)
	return cmd
}

// machine is this one, as the settings use it.
func (a *app) machine(cmd *cobra.Command) *doctor.Machine {
	m := &doctor.Machine{
		Root: "/", Level: kernels.Level(), Cores: threads.Cores(), Files: doctor.OpenFiles(),
		GPU: func() error { return device.Check("cuda") },
	}
	s, err := a.load(cmd)
	if err != nil {
		m.Bad = errors.New(explain(err))
		s = &settings.Loaded{}
	}
	m.Config, m.Threads = s.File, s.Threads
	bandwidth := a.bandwidth
	if bandwidth == nil {
		bandwidth = measure.ReadBandwidth
	}
	m.Read = func() (float64, error) { return bandwidth(s.Threads) }
	if dir, err := a.storeDir(s); err == nil {
		m.Dirs = append(m.Dirs, doctor.Dir{Use: "models", Path: dir, Setting: "model_dirs", Why: "models are read from there when they are loaded"})
	}
	m.Dirs = append(m.Dirs, doctor.Dir{Use: "temporary files", Path: os.TempDir(), Setting: "TMPDIR", Why: "uploads and sound wait there"})
	if err != nil {
		return m // the files that the settings name are unknown
	}
	dir, unfound := a.dataDir()
	if o, ok := s.JobsOptions(filepath.Join(dir, "jobs"), nil); ok && len(o.Servers) == 0 && (unfound == nil || s.Jobs.Dir != "") {
		m.Dirs = append(m.Dirs, doctor.Dir{Use: "batches", Path: o.Dir, Setting: "jobs.dir", Why: "files, batches and each result are synced there"})
	}
	if dir := s.PrefixCache.Dir; dir != "" {
		m.Dirs = append(m.Dirs, doctor.Dir{Use: "the prefix cache", Path: dir, Setting: "prefix_cache.dir", Why: "prompts that are known are read from there"})
	}
	if file := s.Audit.File; file != "" {
		m.Dirs = append(m.Dirs, doctor.Dir{Use: "the audit log", Path: filepath.Dir(file), Setting: "audit.file", Why: "each request is written there"})
	}
	return m
}
