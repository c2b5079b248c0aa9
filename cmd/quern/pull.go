package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine"
	"quern/engine/hub"
	"quern/engine/local"
	"quern/engine/store"
)

func (a *app) pullCmd() *cobra.Command {
	var dryRun, force bool
	var revision string
	cmd := &cobra.Command{
		Use:   "pull MODEL...",
		Short: "Fetch models from the hub",
		Long: `Fetches models from the Hugging Face hub into the model store. MODEL is OWNER/NAME,
OWNER/NAME:QUANT or OWNER/NAME/FILE, with @REVISION after it for another than the
main branch. Without QUANT the sensible one is taken, Q4_K_M where there is one, and
quern says which. All parts of a split model come along, and what a model of several
files needs: SafeTensors, ONNX, Whisper and Kokoro repositories.

A pull that was interrupted goes on where it stopped, and one that finds another of the
same repository waits for it. Files appear when they are whole
and their hashes are right. Files in the Hugging Face cache are not fetched again.`,
		Example: `  quern pull bartowski/Llama-3.2-1B-Instruct-GGUF
  quern pull bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0
  quern pull ggerganov/whisper.cpp/ggml-base.en.bin
  quern pull --dry-run Qwen/Qwen2.5-0.5B-Instruct@main`,
		Args: someModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			refs, err := parseRefs(args, revision)
			if err != nil {
				return err
			}
			s, err := a.load(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signals(cmd.Context(), stopSignals()...)
			defer stop()
			for _, r := range refs {
				if err := a.pull(ctx, s, r, dryRun, force); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "say what would be fetched and end")
	f.BoolVar(&force, "force", false, "fetch again what is there")
	f.StringVar(&revision, "revision", "", "`branch`, tag or commit (default main)")
	settings.AddFlags(cmd)
	return cmd
}

// someModels wants at least one reference.
func someModels(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{errors.New("which model? Write OWNER/NAME, OWNER/NAME:QUANT or OWNER/NAME/FILE")}
	}
	return nil
}

func parseRefs(args []string, revision string) ([]hub.Ref, error) {
	var refs []hub.Ref
	for _, arg := range args {
		r, err := hub.ParseRef(arg)
		if err == nil && revision != "" {
			if r.Revision != "" && r.Revision != revision {
				return nil, usageError{fmt.Errorf("%q and --revision %s do not go together", arg, revision)}
			}
			// Equivalent to a revision in the reference.
			r.Revision = ""
			r, err = hub.ParseRef(r.String() + "@" + revision)
		}
		if err != nil {
			return nil, usageError{err}
		}
		refs = append(refs, r)
	}
	return refs, nil
}

// storeDir is the folder models are pulled into.
func (a *app) storeDir(s *settings.Loaded) (string, error) {
	for _, d := range s.ModelDirs {
		if d != "" {
			return filepath.Abs(d)
		}
	}
	dir, err := a.dataDir()
	if err != nil {
		return "", fmt.Errorf("no folder for models: %w; name one with --models or QUERN_MODELS", err)
	}
	return filepath.Join(dir, "models"), nil
}

// dataDir is quern's in the user's data folder.
func (a *app) dataDir() (string, error) {
	home, err := os.UserHomeDir()
	data, _ := a.env("XDG_DATA_HOME")
	switch {
	case runtime.GOOS == "windows":
		data, err = os.UserCacheDir() // %LocalAppData%
	case runtime.GOOS == "darwin":
		data = filepath.Join(home, "Library", "Application Support")
	case filepath.IsAbs(data):
		err = nil
	default:
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "quern"), err
}

// store is the store of a command that only reads it.
func (a *app) store(cmd *cobra.Command) (hub.Store, error) {
	s, err := a.load(cmd)
	if err != nil {
		return hub.Store{}, err
	}
	dir, err := a.storeDir(s)
	return hub.Store{Dir: dir}, err
}

// hubClient makes the client the settings ask for.
func (a *app) hubClient(s *settings.Loaded, log *slog.Logger, progress func(hub.Progress)) (*hub.Client, error) {
	dir, err := a.storeDir(s)
	if err != nil {
		return nil, err
	}
	o := hub.Options{Store: hub.Store{Dir: dir}, Cache: hub.CacheDir(a.env), Endpoint: s.Hub.Endpoint,
		Agent: "quern/" + thisBuild().Version, Log: log, Progress: progress}
	for _, name := range []string{"QUERN_OFFLINE", "HF_HUB_OFFLINE"} {
		if v, _ := a.env(name); truthy(v) {
			o.Offline = name + " is set"
			return hub.New(o)
		}
	}
	// Only where the network is used: offline, no token is sent.
	if o.Token, err = hub.FindToken(a.env, s.Hub.TokenFile); err != nil {
		return nil, fmt.Errorf("token of the hub: %w", err)
	}
	return hub.New(o)
}

// serveStore is the store whose models e serves, for clients of a server.
func (a *app) serveStore(s *settings.Loaded, dir string, e *local.Engine, log *slog.Logger) *store.Store {
	o := store.Options{Dir: dir, Models: e, Log: log,
		Hub: func(progress func(hub.Progress)) (*hub.Client, error) { return a.hubClient(s, log, progress) }}
	if !s.Hub.Pull {
		o.NoPull = "hub.pull is false"
	}
	return store.New(o)
}

// truthy reads switches of the environment as the hub's own tools do.
func truthy(v string) bool {
	switch strings.ToLower(v) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

func (a *app) pull(ctx context.Context, s *settings.Loaded, r hub.Ref, dryRun, force bool) error {
	line := a.status()
	defer line.Clear()
	c, err := a.hubClient(s, a.logger(s), a.pulled())
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.Plan(ctx, r, force)
	if errors.Is(err, hub.ErrOffline) && !force {
		m, found := c.Find(r)
		if found == nil {
			fmt.Fprintf(a.out, "%s is here: %s\n", r, terminal.Plain(m.Path))
			a.next(m)
			return nil
		}
	}
	line.Clear()
	if err != nil {
		return err
	}
	if err := a.printPlan(p); err != nil || dryRun {
		return err
	}
	m, err := c.Fetch(ctx, p)
	line.Clear()
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(a.err, "Stopped. The same command goes on from here.")
		}
		return err
	}
	fmt.Fprintf(a.out, "%s is in %s\n", m.Ref, terminal.Plain(m.Path))
	a.next(m)
	return nil
}

// next prints how to use the model that was pulled.
func (a *app) next(m hub.Model) {
	fmt.Fprintf(a.out, "Serve it:\n  quern serve --model %s%s\n", hub.Prefix, m.Ref)
}

// maxRows bounds the table of a pull; voices come in dozens.
const maxRows = 20

func (a *app) printPlan(p *hub.Plan) error {
	what := p.Kind
	if p.Quant != "" {
		what = p.Quant + ", " + what
	}
	fmt.Fprintf(a.out, "%s at %.12s: %s, %s\n", p.Ref, p.Commit, what, humanize.Bytes(uint64(p.Bytes)))
	if p.Chosen {
		fmt.Fprintf(a.out, "Taking %s", p.Quant)
		if len(p.Others) > 0 {
			fmt.Fprintf(a.out, "; there is also %s", strings.Join(p.Others, ", "))
		}
		fmt.Fprintf(a.out, " (write %s:QUANT)\n", p.Ref.Repo())
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	rows := p.Files
	if len(rows) > maxRows {
		// The weights come last and are the largest.
		rows = rows[len(rows)-maxRows:]
		fmt.Fprintf(w, "  %d small files\t\t\n", len(p.Files)-maxRows)
	}
	for _, f := range rows {
		state := string(f.State)
		if f.State == hub.Partial {
			state = fmt.Sprintf("to finish, %s are there", humanize.Bytes(uint64(f.Have)))
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", terminal.Plain(f.Path), humanize.Bytes(uint64(f.Size)), state)
	}
	fmt.Fprintf(w, "  to download\t%s\t\n", humanize.Bytes(uint64(p.Fetch)))
	return w.Flush()
}

// resolveHub replaces hub: references in the settings by files. A model that is not
// here is pulled at once where it is preloaded, as all models of the command line
// are, and otherwise at its first request; hub.pull may forbid it.
func (a *app) resolveHub(ctx context.Context, s *settings.Loaded, log *slog.Logger) error {
	for i := range s.Models {
		m := &s.Models[i]
		if !settings.IsHub(m.Path) {
			continue
		}
		if err := a.resolveModel(ctx, s, m, log); err != nil {
			return fmt.Errorf("model %s: %w", m.Path, err)
		}
	}
	return nil
}

func (a *app) resolveModel(ctx context.Context, s *settings.Loaded, m *settings.Model, log *slog.Logger) error {
	r, err := hub.ParseRef(m.Path)
	if err != nil {
		return usageError{err}
	}
	line := a.status()
	defer line.Clear()
	c, err := a.hubClient(s, log, a.pulled())
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := c.Find(r)
	if errors.Is(err, hub.ErrNotHere) {
		if !s.Hub.Pull {
			return fmt.Errorf("%w, and hub.pull is false; fetch it with: quern pull %s", err, r)
		}
		if !s.Preloads(m) {
			m.Fetch = a.fetchLater(s, r, log)
			m.Path = ""
			if m.Name == "" {
				m.Name = r.String()
			}
			return nil
		}
		found, err = pullNow(ctx, c, r, log)
	}
	if err != nil {
		return err
	}
	m.Path = found.Path
	if m.Name == "" {
		m.Name = found.Ref.String()
	}
	return nil
}

func pullNow(ctx context.Context, c *hub.Client, r hub.Ref, log *slog.Logger) (hub.Model, error) {
	p, err := c.Plan(ctx, r, false)
	if err != nil {
		return hub.Model{}, err
	}
	log.InfoContext(ctx, "pulling model", "model", r.String(), "quant", p.Quant, "bytes", p.Fetch, "commit", p.Commit)
	return c.Fetch(ctx, p)
}

// logEvery bounds how often a pull without a terminal is logged.
const logEvery = 10 * time.Second

// fetchLater returns a function that pulls r. Pulls run one after another, since they would
// share the bandwidth.
func (a *app) fetchLater(s *settings.Loaded, r hub.Ref, log *slog.Logger) func(context.Context, func(done, total int64)) (string, error) {
	return func(ctx context.Context, progress func(done, total int64)) (string, error) {
		a.pulling.Lock()
		defer a.pulling.Unlock()
		var mu sync.Mutex // the client reports several files at a time
		logged := time.Now()
		c, err := a.hubClient(s, log, func(p hub.Progress) {
			progress(p.AllDone, p.AllSize)
			mu.Lock()
			defer mu.Unlock()
			if time.Since(logged) >= logEvery {
				logged = time.Now()
				log.InfoContext(ctx, "pulling model", "model", r.String(), "done", p.AllDone, "of", p.AllSize)
			}
		})
		if err != nil {
			return "", err
		}
		defer c.Close()
		m, err := c.Find(r) // it may have come in the meantime
		if errors.Is(err, hub.ErrNotHere) {
			m, err = pullNow(ctx, c, r, log)
		}
		if err != nil {
			return "", fetchError(r, err)
		}
		return m.Path, nil
	}
}

// fetchError is the error that clients get of a failed pull: what the hub denies
// or does not have, and nothing of this machine's disks and networks.
func fetchError(r hub.Ref, err error) error {
	for _, known := range []error{hub.ErrAccess, hub.ErrNotFound, hub.ErrNoModel, hub.ErrAmbiguous, hub.ErrOffline} {
		if errors.Is(err, known) {
			return &engine.Error{Code: engine.CodeEngineFailure, Message: err.Error(), Err: err}
		}
	}
	return &engine.Error{Code: engine.CodeEngineFailure, Err: err,
		Message: fmt.Sprintf("model %q cannot be fetched from the hub: the server's log says why", r.String())}
}

// pulled returns the progress callback of a pull: it prints once that it waits for another, and
// shows how far the pull is.
func (a *app) pulled() func(hub.Progress) {
	noted := false
	return func(p hub.Progress) {
		if p.State == hub.Waiting && !noted {
			noted = true
			fmt.Fprintf(a.status(), "Another pull of %s is under way; waiting for it.\n", terminal.Plain(p.File))
		}
		showPull(a.status(), p)
	}
}

// showPull shows how far a pull is: all of it, and the file whose progress came last.
func showPull(line *terminal.Line, p hub.Progress) {
	done, size := p.AllDone, p.AllSize
	if size <= 0 {
		done, size = p.Done, p.Size
	}
	if p.State == hub.Present || size <= 0 {
		return
	}
	if p.State == hub.Waiting {
		line.Set(float64(done)/float64(size), "of the other pull")
		return
	}
	what := fmt.Sprintf("%s / %s %s", humanize.Bytes(uint64(max(done, 0))), humanize.Bytes(uint64(size)), path.Base(p.File))
	if p.State == hub.Verifying {
		done, size, what = p.Done, max(p.Size, 1), "verifying "+path.Base(p.File)
	}
	line.Set(float64(done)/float64(size), what)
}
