package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/spell"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide help is at most.
const helpWidth = 100

// help prints a command's description and then its usage.
func help(cmd *cobra.Command, _ []string) {
	w, flush := terminal.Breaking(cmd.OutOrStdout())
	defer flush()
	fmt.Fprintf(w, "%s\n\n", cmp.Or(cmd.Long, cmd.Short))
	// Help that goes to a closed pipe is no failure.
	_ = writeUsage(w, cmd)
}

func usage(cmd *cobra.Command) error { return writeUsage(cmd.ErrOrStderr(), cmd) }

// writeUsage prints synopsis, examples, subcommands and the flags under their
// group headings, in the order the groups were first used.
func writeUsage(w io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-10s %s\n", c.Name(), c.Short)
			}
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	width := helpWidth
	if narrow := terminal.Columns(w); narrow > 0 {
		width = min(width, narrow)
	}
	sets := map[string]*pflag.FlagSet{}
	var order []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := settings.Heading(f)
		if sets[name] == nil {
			sets[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
			order = append(order, name)
		}
		sets[name].AddFlag(f)
	})
	// A command's own come behind its general ones and before the settings.
	rank := func(name string) int {
		if name == groupReply {
			return 1
		}
		return 2 * slices.Index(settings.Sections, name)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for _, name := range order {
		if sets[name].HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", name, sets[name].FlagUsagesWrapped(width))
		}
	}
	if env := settings.Environment(cmd.Name()); env != "" {
		fmt.Fprintf(&b, "\nEnvironment:\n%s", env)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%q tells more about a command, \"quern help settings\" about settings.\nExit status: 0 done, 1 failed, 2 called wrongly.\n",
			cmd.CommandPath()+" COMMAND --help")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// helpCmd is "quern help COMMAND", and "quern help settings".
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "Tell more about a command",
		Hidden: true,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			words := []string{"settings"}
			for _, c := range root.Commands() {
				words = append(words, c.Name())
			}
			if len(args) > 0 {
				words = nil
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(help *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "settings" {
				if len(args) > 1 {
					return usageError{fmt.Errorf("quern help settings takes no more words, got %q", args[1])}
				}
				w, flush := terminal.Breaking(help.OutOrStdout())
				defer flush()
				return settings.Help(w)
			}
			cmd, rest, err := root.Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 && cmd == root {
				return noArgs(root, rest)
			}
			return cmd.Help()
		},
	}
}

// flagTypes are the values that flags take, by the name pflag has for their type.
var flagTypes = map[string]string{
	"bool": "true or false", "int": "a whole number", "uint64": "a whole number from 0 up",
	"float32": "a number", "float64": "a number",
}

// flagError is the error of a wrong flag, with the one that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if f := invalid.GetFlag(); flagTypes[f.Value.Type()] != "" {
			err = fmt.Errorf("--%s: %q is not %s", f.Name, invalid.GetValue(), flagTypes[f.Value.Type()])
		}
		return usageError{err}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	if words, known := instead(cmd, unknown); known {
		return usageError{fmt.Errorf("%w%s", err, words)}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if c := spell.Closest(unknown.GetSpecifiedName(), names); c != "" {
		err = fmt.Errorf("%w; did you mean --%s?", err, c)
	}
	return usageError{err}
}

// Argument rules. Their messages name the arguments that are expected.

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return unknownCommand(cmd, args[0])
	}
	return usageError{fmt.Errorf("%s takes no arguments, got %q", cmd.Name(), args[0])}
}

// otherNames are the names of quern's commands in other programs.
var otherNames = map[string]string{
	"chat": "run", "ask": "run", "generate": "run", "complete": "run",
	"server": "serve", "start": "serve", "up": "serve",
	"show": "inspect", "info": "inspect",
	"benchmark": "bench", "perplexity": "bench --quality",
	"convert": "quantize", "quantise": "quantize",
	"speak": "say", "tts": "say",
	"listen": "transcribe", "hear": "transcribe", "stt": "transcribe", "asr": "transcribe",
	"download": "pull", "fetch": "pull", "get": "pull", "install": "pull",
	"ls": "list", "models": "list",
	"remove": "rm", "delete": "rm",
	"stop": "", "ps": "", "cp": "", "push": "", // what Ollama has and quern has not is no slip of something else
	"settings": "help settings", "config": "help settings", "options": "help settings",
}

// unknownCommand names the command that was probably meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	names := slices.Collect(maps.Keys(otherNames))
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	meant, known := otherNames[word]
	switch {
	case known:
	case settings.Exists(word) || settings.IsHub(word) || strings.Contains(word, " "):
		meant = "run " + shellWord(word)
	default:
		meant = spell.Closest(word, names)
		meant = cmp.Or(otherNames[meant], meant)
	}
	msg := fmt.Sprintf("unknown command %q", word)
	if meant != "" {
		msg += fmt.Sprintf("; did you mean: quern %s", meant)
	}
	return usageError{errors.New(msg)}
}

// exactModel wants one argument, a model's file or name.
func exactModel(cmd *cobra.Command, args []string) error { return exactly(cmd, "model", args) }

// exactFile wants one argument, a file.
func exactFile(cmd *cobra.Command, args []string) error { return exactly(cmd, "file", args) }

func exactly(cmd *cobra.Command, what string, args []string) error {
	switch len(args) {
	case 0:
		return usageError{fmt.Errorf("which %s? Write: %s", what, strings.TrimSuffix(cmd.UseLine(), " [flags]"))}
	case 1:
		return nil
	}
	return usageError{fmt.Errorf("one %s is wanted, and %q is one too many", what, args[1])}
}

// someFiles wants at least one argument.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exactly(cmd, "file", nil)
	}
	return nil
}

// idle refuses flags that would have no effect; why names the flag that they need.
func idle(cmd *cobra.Command, why string, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s has no effect: %s", name, why)}
		}
	}
	return nil
}

// exclusive refuses flags that contradict each other.
func exclusive(cmd *cobra.Command, names ...string) error {
	var given []string
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return usageError{fmt.Errorf("%s do not go together", strings.Join(given, " and "))}
	}
	return nil
}
