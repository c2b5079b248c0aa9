package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quern/cmd/quern/internal/settings"
	"quern/engine"
	"quern/engine/device"
	"quern/engine/hub"
	"quern/engine/lm"
	"quern/engine/quantize"
	"quern/engine/transcribe"
)

// shells are those that words are completed in, with the function that writes the script.
var shells = []struct {
	name  string
	write func(root *cobra.Command, w io.Writer) error
	use   string
}{
	{"bash", func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) }, "source <(quern completion bash)"},
	{"zsh", func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) }, "source <(quern completion zsh)"},
	{"fish", func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) }, "quern completion fish | source"},
	{"powershell", func(c *cobra.Command, w io.Writer) error { return c.GenPowerShellCompletionWithDesc(w) }, "quern completion powershell | Out-String | Invoke-Expression"},
}

func (a *app) completionCmd() *cobra.Command {
	var names, examples []string
	for _, s := range shells {
		names, examples = append(names, s.name), append(examples, "  "+s.use)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes words of quern's commands",
		Long: `Prints a script for SHELL, one of ` + strings.Join(names, ", ") + `. It completes
commands, flags, the values of flags and the names of models. Bash needs the package
bash-completion.`,
		Example:   strings.Join(examples, "\n"),
		ValidArgs: names,
		Args:      func(cmd *cobra.Command, args []string) error { return exactly(cmd, "shell", args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return s.write(cmd.Root(), a.out)
				}
			}
			return usageError{fmt.Errorf("unknown shell %q; quern completes words in %s", args[0], strings.Join(names, ", "))}
		},
	}
}

// completions are the values of flags and arguments that can be listed. They are
// listed when a word is completed; a list that cannot be made is empty.
func (a *app) completions(root *cobra.Command) {
	values := map[string]func(cmd *cobra.Command) []string{
		"device": func(*cobra.Command) []string {
			return slices.DeleteFunc([]string{"auto", "cpu", "cuda"}, func(d string) bool { return device.Check(d) != nil })
		},
		"quantize": func(*cobra.Command) []string { return lower(quantize.Types()) },
		"format":   func(*cobra.Command) []string { return transcriptFormats },
		"without":  func(*cobra.Command) []string { return append(engine.GuardNames(), "all") },
		"voice":    a.voiceNames,
	}
	for _, cmd := range root.Commands() {
		kind := modelKinds[cmd.Name()]
		all := map[string]func(*cobra.Command) []string{
			"model":    func(cmd *cobra.Command) []string { return a.modelNames(cmd, kind) },
			"against":  func(cmd *cobra.Command) []string { return a.modelNames(cmd, kind) },
			"language": func(*cobra.Command) []string { return engine.Languages() },
		}
		if cmd.Name() == "serve" {
			all["model"] = a.servedNames
		}
		if cmd.Name() == "transcribe" {
			all["language"] = func(*cobra.Command) []string { return transcribe.Languages() }
		}
		if cmd.Name() == "batch" {
			all["format"] = func(*cobra.Command) []string { return slices.Sorted(maps.Keys(transcriptSuffixes)) }
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if words := settings.Choices(f.Name); words != nil {
				all[f.Name] = func(*cobra.Command) []string { return words }
			}
		})
		for name, list := range values {
			if all[name] == nil {
				all[name] = list
			}
		}
		for name, list := range all {
			if cmd.Flags().Lookup(name) == nil {
				continue
			}
			files := cobra.ShellCompDirectiveNoFileComp
			if name == "model" || name == "against" {
				files = cobra.ShellCompDirectiveDefault
			}
			complete := func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
				return begins(list(cmd), word), files
			}
			must(cmd.RegisterFlagCompletionFunc(name, complete))
		}
		if cmd.Flags().Lookup("models") != nil {
			must(cmd.MarkFlagDirname("models"))
		}
		if args := a.argumentCompletions()[cmd.Name()]; args != nil {
			cmd.ValidArgsFunction = args
		}
	}
}

// must panics on mistakes of this program, as a flag that is completed twice.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// modelKinds are the kinds of models the commands want; "" is any.
var modelKinds = map[string]engine.Kind{
	"run": engine.KindCompletion, "say": engine.KindSpeech, "transcribe": engine.KindTranscription,
}

type completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// argumentCompletions complete the arguments of commands. Where none is listed files
// are, as the shell does.
func (a *app) argumentCompletions() map[string]completion {
	nothing := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	first := func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return begins(a.modelNames(cmd, modelKinds[cmd.Name()]), word), cobra.ShellCompDirectiveDefault
	}
	return map[string]completion{
		"run": first, "inspect": first, "bench": first,
		"quantize": func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) < 2 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			types := quantize.Types()
			if word != "" && word == strings.ToLower(word) {
				types = lower(types)
			}
			return begins(types, word), cobra.ShellCompDirectiveNoFileComp
		},
		"rm": func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return begins(a.storeNames(cmd), word), cobra.ShellCompDirectiveNoFileComp
		},
		"pull": nothing, "list": nothing, "version": nothing, "serve": nothing, "say": nothing, "phonemize": nothing, "tokenize": nothing,
	}
}

// begins returns the words of list that begin with word.
func begins(list []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasPrefix(s, word) })
}

func lower(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

// quietly is the app without output to standard error, which a shell would show in the middle of
// the line that is being typed.
func (a *app) quietly() *app {
	return &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard, environ: a.environ}
}

// modelNames lists the models of a kind in the settings and the store.
func (a *app) modelNames(cmd *cobra.Command, kind engine.Kind) []string {
	m, err := a.quietly().openModels(cmd.Context(), cmd, "")
	if err != nil {
		return nil
	}
	defer m.Close()
	var out []string
	for _, i := range m.Models() {
		if kind == "" || slices.Contains(i.Capabilities, string(kind)) {
			out = append(out, i.ID)
		}
	}
	for _, ref := range a.storeNames(cmd) {
		out = append(out, hub.Prefix+ref)
	}
	return out
}

// servedNames lists the names that serve takes for a model: those of the configuration, of built-in
// models and of pulled ones. Models of folders are served without being named.
func (a *app) servedNames(cmd *cobra.Command) []string {
	s, err := a.quietly().load(cmd)
	if err != nil {
		return nil
	}
	out := []string{lm.BuiltinName}
	for _, m := range s.Models {
		if m.Name != "" {
			out = append(out, m.Name)
		}
	}
	for _, ref := range a.storeNames(cmd) {
		out = append(out, hub.Prefix+ref)
	}
	return out
}

// storeNames lists the references of pulled models.
func (a *app) storeNames(cmd *cobra.Command) []string {
	store, err := a.quietly().store(cmd)
	if err != nil {
		return nil
	}
	list, err := store.List()
	if err != nil {
		return nil
	}
	var out []string
	for _, m := range list {
		if m.Ref.Owner != "" {
			out = append(out, m.Ref.String())
		}
	}
	return out
}

// voiceNames lists the voices of the model that the command line names.
func (a *app) voiceNames(cmd *cobra.Command) []string {
	name, err := cmd.Flags().GetString("model")
	if err != nil {
		return nil
	}
	m, err := a.quietly().openModels(cmd.Context(), cmd, name)
	if err != nil {
		return nil
	}
	defer m.Close()
	if m.file != "" {
		name = m.file
	}
	found, err := m.Find(name, engine.KindSpeech)
	if err != nil {
		return nil
	}
	var out []string
	model := found.Info().ID
	for _, v := range m.Voices() {
		if v.Model == model {
			out = append(out, v.ID)
		}
	}
	return out
}
