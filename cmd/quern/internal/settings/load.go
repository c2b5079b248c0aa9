// Package settings is quern's settings and their sources: one table of settings, from which
// flags, variables, the configuration file, help and documents come.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quern/engine/spell"
	"quern/kernels"
)

//go:generate go test -run ^TestGenerated$ -update

// Precedence is the order of sources of a setting.
const Precedence = "Flags win over variables, variables over the file, the file over defaults."

// spelling is how values are written.
const spelling = "Times are written as 60s, 15m or 1h30m, sizes as 16MiB or 2GiB; without a unit they are bytes."

// groupAnnotation names the heading a flag stands under; settingAnnotation marks the flags
// of the table: a command may have one of its own that is spelled the same.
const groupAnnotation, settingAnnotation = "quern_group", "quern_setting"

// Group puts a flag under a heading of --help.
func Group(flags *pflag.FlagSet, flag, heading string) {
	f := flags.Lookup(flag)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[groupAnnotation] = []string{heading}
}

// Heading is the heading of a flag, General where Group has put it under none.
func Heading(f *pflag.Flag) string {
	if g := f.Annotations[groupAnnotation]; len(g) > 0 {
		return g[0]
	}
	return General
}

// AddFlags gives cmd the flags of the settings that are for it.
func AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	for _, r := range table() {
		if r.flag == "" || !r.of(cmd.Name()) {
			continue
		}
		usage := r.usage(cmd.Name())
		switch kind := r.kind(); {
		case r.switches, kind == reflect.Bool:
			flags.BoolP(r.flag, r.short, false, usage)
		case r.many || kind == reflect.Slice:
			flags.StringArrayP(r.flag, r.short, nil, usage)
		default:
			flags.StringP(r.flag, r.short, "", usage)
		}
		Group(flags, r.flag, r.section)
		flags.Lookup(r.flag).Annotations[settingAnnotation] = []string{r.flag}
	}
}

// Given are the flags of settings that cmd was called with.
func Given(cmd *cobra.Command) (names []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Annotations[settingAnnotation] != nil {
			names = append(names, f.Name)
		}
	})
	return names
}

// Loaded is the outcome of reading the settings.
type Loaded struct {
	Settings
	File     string   // the configuration read, "" when there is none
	Warnings []string // for the log, once there is one
}

// Load reads the settings of one run of cmd; see Precedence. environ is the environment.
// Errors name the flag, variable or line of the file.
func Load(cmd *cobra.Command, environ []string) (*Loaded, error) {
	if err := kernels.CheckLevel(); err != nil {
		return nil, err
	}
	env := func(name string) (string, bool) { return Lookup(environ, name) }
	out := &Loaded{Settings: defaults(cmd.Name())}
	file, from := configFile(cmd, env)
	if file != "" {
		data, err := os.ReadFile(file)
		switch {
		case err == nil:
			if err := decodeYAML(file, data, &out.Settings); err != nil {
				return nil, err
			}
			out.File = file
		case from != "" || !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: %w", cmp.Or(from, "configuration"), err)
		}
	}
	list := table()
	for _, r := range list {
		if v, _ := env(r.env); v != "" {
			if err := r.apply(&out.Settings, []string{v}); err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", r.env, err)
			}
		}
	}
	for _, r := range list {
		f := cmd.Flags().Lookup(r.flag)
		if f == nil || !f.Changed || f.Annotations[settingAnnotation] == nil {
			continue
		}
		values := []string{f.Value.String()}
		if s, ok := f.Value.(pflag.SliceValue); ok {
			values = s.GetSlice()
		}
		if r.switches && values[0] == "false" {
			continue
		}
		if err := r.apply(&out.Settings, values); err != nil {
			return nil, fmt.Errorf("--%s: %w", r.flag, err)
		}
	}
	if err := out.check(env); err != nil {
		if out.File != "" { // flags and variables were checked above
			err = fmt.Errorf("%s: %w", out.File, err)
		}
		return nil, err
	}
	out.Warnings = unknownVars(list, environ)
	if n := runtime.NumCPU(); out.Threads > n {
		out.Warnings = append(out.Warnings, fmt.Sprintf("threads is %d, and this machine has %d processors: more threads than those only wait for each other", out.Threads, n))
	}
	return out, nil
}

// apply sets the value of a flag or a variable. Rows that are read elsewhere, as the
// configuration's name, are skipped.
func (r *row) apply(s *Settings, values []string) error {
	switch {
	case r.set != nil:
		return r.set(s, values)
	case r.key == "":
		return nil
	}
	v := field(s, r.key)
	if err := r.put(v, values[0]); err != nil {
		return err
	}
	if key, ok := strings.CutPrefix(r.key, ofModels); ok {
		for i := range s.Models {
			// Entries without the key take model_defaults'.
			if own := below(reflect.ValueOf(&s.Models[i]).Elem(), key); !own.IsZero() {
				own.Set(v)
			}
		}
	}
	return nil
}

// Lookup finds a variable in environ. None is called "": on Windows what begins with = is
// the folder of a drive.
func Lookup(environ []string, name string) (string, bool) {
	for _, kv := range slices.Backward(environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" && k == name {
			return v, true
		}
	}
	return "", false
}

// configFile is the file to read, and from is the flag or variable that named it, or "".
func configFile(cmd *cobra.Command, env func(string) (string, bool)) (name, from string) {
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		return f.Value.String(), "--config"
	}
	if v, _ := env("QUERN_CONFIG"); v != "" {
		return v, "QUERN_CONFIG"
	}
	places := []string{"quern.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "quern", "quern.yaml"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return p, ""
		}
	}
	return "", ""
}

// unknownVars finds QUERN_ variables that are no setting's, which are mostly typing
// mistakes.
func unknownVars(list []row, environ []string) []string {
	var known []string
	for _, r := range list {
		if r.env != "" {
			known = append(known, r.env)
		}
	}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "QUERN_") || slices.Contains(known, name) {
			continue
		}
		msg := name + " is not a variable quern reads"
		if c := spell.Closest(name, known); c != "" {
			msg += "; did you mean " + c + "?"
		}
		out = append(out, msg)
	}
	slices.Sort(out)
	return out
}
