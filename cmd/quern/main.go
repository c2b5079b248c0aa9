// Command quern serves language models over the OpenAI API, and has the tools
// to look into model files and to measure them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/device"
	"quern/httpapi"
	"quern/kernels"
	"quern/kernels/cgroup"
	"quern/kernels/offheap"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// An app is one run of the program: its streams, its environment and nothing
// else, so that tests can run it in-process.
type app struct {
	in       io.Reader
	out, err io.Writer
	environ  []string

	level slog.LevelVar // of the log, while a server runs

	once sync.Once
	line *terminal.Line // of err; see status

	pulling sync.Mutex // held while a model is pulled that a request asked for

	bandwidth func(threads int) (bytesPerSecond float64, err error) // of memory; nil measures it
}

func main() {
	shareMemory()
	log.SetOutput(io.Discard) // nothing here uses it; mewkiz/flac has a line for every frame of 24 kHz
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
	os.Exit(a.main(context.Background(), os.Args[1:]))
}

// shareMemory keeps the heap and the caches of models below the memory limit of a container or a
// unit: the kernel kills processes above it. An eighth is left to the kernel's buffers and the
// program's own pages. GOMEMLIMIT in the environment wins.
func shareMemory() {
	if limit, limited := cgroup.Memory(os.DirFS("/")); limited && os.Getenv("GOMEMLIMIT") == "" {
		offheap.Share(limit - limit/8)
	}
}

// usageError marks a mistake in how quern was called: a flag, an argument, an
// environment variable or the configuration file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// main runs the command line args and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if silent, ok := errors.AsType[exitError](err); ok {
		return silent.code
	}
	w, flush := terminal.Breaking(a.err)
	defer flush() // a terminal that is gone cannot be told
	fmt.Fprintf(w, "quern: %s\n", explain(err))
	if u := (usageError{}); !errors.As(err, &u) {
		return exitFailure
	}
	fmt.Fprintf(w, "See %q.\n", cmd.CommandPath()+" --help")
	return exitUsage
}

// exitError ends the program with a code; its message was printed before.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "quern",
		Short: "Run language models and serve them over the OpenAI API",
		Long: `quern runs language models on this machine and answers the OpenAI API.

Without a model file it runs the small model that is built in, so every command
below works at once.`,
		Example: `  quern serve                                   serve what was pulled, or the built-in model
  quern serve --model llama-3.2-1b-q4_k_m.gguf  serve a file
  quern run                                     chat in the terminal
  quern run "What is the capital of France?"    one answer
  quern inspect model.gguf                      what is in a file, and can quern run it`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = thisBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().BoolP("version", "v", false, "print version, Go version, platform and CPU level")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCmd(root))
	root.AddCommand(a.serveCmd(), a.runCmd(), a.inspectCmd(), a.benchCmd(), a.quantizeCmd(), a.tokenizeCmd(), a.runONNXCmd(),
		a.sayCmd(), a.phonemizeCmd(), a.transcribeCmd(), a.batchCmd(),
		a.pullCmd(), a.listCmd(), a.rmCmd(), a.doctorCmd(), a.versionCmd(), a.completionCmd())
	a.completions(root)
	return root
}

// env looks up an environment variable.
func (a *app) env(name string) (string, bool) { return settings.Lookup(a.environ, name) }

// status is the line of standard error. There is one.
func (a *app) status() *terminal.Line {
	a.once.Do(func() { a.line = terminal.NewLine(a.err, terminal.Width(a.err)) })
	return a.line
}

// progress shows the progress of work on models, on the line of standard error.
func (a *app) progress(what string) *terminal.Progress { return terminal.NewProgress(a.status(), what) }

// load reads the settings of one run of cmd, and sets up the kernels by them.
func (a *app) load(cmd *cobra.Command) (*settings.Loaded, error) {
	s, err := a.read(cmd)
	if err == nil {
		kernels.RoundFloats(s.RoundFloats)
	}
	return s, err
}

// read reads the settings of cmd, and changes nothing, so that a running server can call it.
func (a *app) read(cmd *cobra.Command) (*settings.Loaded, error) {
	s, err := settings.Load(cmd, a.environ)
	if err != nil {
		return nil, usageError{err}
	}
	if s.Device == "cpu" || s.Device == "auto" && device.Check("cuda") != nil {
		if err := idle(cmd, "models run on the CPU", "gpu-layers"); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// signals returns a context that ends with the first of the given signals.
// From then on they have their usual effect again, so a second one ends the
// process at once.
func signals(parent context.Context, sig ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, sig...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// serverSignals end a server; SIGHUP reloads its settings.
var serverSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// stopSignals end other commands. SIGHUP comes when their terminal is closed; under nohup it is
// ignored.
func stopSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return serverSignals
	}
	return append(slices.Clone(serverSignals), syscall.SIGHUP)
}

// logger writes to stderr in the format and from the level s asks for, and
// logs the warnings of loading the settings.
func (a *app) logger(s *settings.Loaded) *slog.Logger {
	a.level.Set(level(s))
	o := &slog.HandlerOptions{Level: &a.level}
	var h slog.Handler = slog.NewTextHandler(a.status(), o)
	if s.Log.Format == "json" {
		h = slog.NewJSONHandler(a.status(), o)
	}
	log := slog.New(httpapi.LogHandler(h))
	for _, w := range s.Warnings {
		log.Warn(w)
	}
	return log
}

// level is that of the log.
func level(s *settings.Loaded) slog.Level {
	var l slog.Level
	// The settings refuse names that slog does not have.
	if err := l.UnmarshalText([]byte(s.Log.Level)); err != nil {
		panic(err)
	}
	return l
}

// writeJSON prints v on one line.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
