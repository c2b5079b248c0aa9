package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"quern/kernels"
)

// version is set at release with -ldflags "-X main.version=1.2.3".
var version = ""

// A build is the output of `quern version`.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CPULevel string `json:"cpu_level"`
}

// thisBuild reads the build information that the linker and the Go tool wrote into the binary.
func thisBuild() build {
	b := build{
		Version:  version,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPULevel: kernels.Level(),
	}
	info, ok := debug.ReadBuildInfo()
	if ok && b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	b.Version = cmp.Or(b.Version, "devel")
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Time = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

// String is the text for people, in two lines.
func (b build) String() string {
	line := "quern " + b.Version
	if b.Commit != "" {
		line += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return fmt.Sprintf("%s\n%s %s, CPU level %s", line, b.Go, b.Platform, b.CPULevel)
}

func (a *app) versionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, Go version, platform and CPU level",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if asJSON {
				return writeJSON(a.out, b)
			}
			_, err := fmt.Fprintln(a.out, b)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
