package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/engine/local"
	"quern/httpapi"
	"quern/httpapi/jobs"
	"quern/kernels/threads"
)

func (a *app) serveCmd() *cobra.Command {
	var printConfig, open bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the OpenAI API over HTTP",
		Long: `Serves models over the OpenAI API: chat, completions, embeddings, reranking, speech and
transcription.

` + settings.Precedence + `
"quern help settings" lists them all. Without any, what was pulled is served on
127.0.0.1:8080, or the built-in model, and a browser finds a page there to use it with.
An address other machines can reach needs API keys, or --no-auth said on purpose.

SIGTERM or Ctrl-C lets running requests finish (shutdown_grace); a second one
ends the program at once.`,
		Example: `  quern serve
  quern serve --open
  quern serve --model llama-3.2-1b-q4_k_m.gguf
  quern serve --model small=a.gguf --model large=b.gguf --listen :9000
  quern serve --model hub:bartowski/Llama-3.2-1B-Instruct-GGUF
  quern serve --models /srv/models --threads 8
  quern serve --config quern.yaml --print-config`,
		Args: func(cmd *cobra.Command, args []string) error {
			err := noArgs(cmd, args)
			if err != nil {
				err = fmt.Errorf("%w; a model is named with --model %s", err, args[0])
			}
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.load(cmd)
			if err != nil {
				return err
			}
			if printConfig {
				a.logger(s) // for its warnings
				return s.Print(a.out)
			}
			if open && !s.Page {
				return usageError{errors.New("--open opens the page, and the configuration says page: false; leave one of them out")}
			}
			return a.serve(cmd.Context(), s, open)
		},
	}
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the effective settings and end")
	settings.Group(cmd.Flags(), "print-config", settings.General)
	cmd.Flags().BoolVar(&open, "open", false, "open the page in a browser")
	settings.Group(cmd.Flags(), "open", settings.Server)
	settings.AddFlags(cmd)
	return cmd
}

// serve runs the server until a signal ends it. Once it is ready it opens the page, if it
// is told to.
func (a *app) serve(parent context.Context, s *settings.Loaded, open bool) error {
	ctx, stop := signals(parent, stopSignals...)
	defer stop()
	log := a.logger(s)
	setProcs(s.Threads)

	ln, err := listen(ctx, s)
	if err != nil {
		return err
	}
	defer ln.Close()

	if err := a.resolveHub(ctx, s, log); err != nil {
		return err
	}
	bars := a.progress("loading")
	defer bars.Wait()
	o := s.EngineOptions(log)
	o.Progress = bars.Update
	var unfound error // where models are pulled to; it matters to who wants that
	if o.Store, unfound = a.storeDir(s); unfound != nil {
		log.Debug("models cannot be pulled", "err", unfound)
	}
	e, err := local.New(o)
	if err != nil {
		return err
	}
	defer e.Close()
	ao := s.APIOptions(e, thisBuild().Version, log)
	if s.Manage != "none" && unfound == nil {
		models := a.serveStore(s, o.Store, e, log)
		defer models.Close()
		ao.Store = models
	}
	queue, err := a.serveJobs(s, log)
	if err != nil {
		return err
	}
	if queue != nil {
		defer queue.Close()
		ao.Jobs = queue
	}
	api, err := httpapi.New(ao)
	if err != nil {
		return err
	}
	api.SetReady("models are being loaded")
	fmt.Fprintf(a.out, "quern is listening on %s\n", baseURL(ln.Addr()))
	if s.File != "" {
		log.Info("configuration read", "file", s.File)
	}

	serving, done := context.WithCancel(ctx)
	defer done()
	served := make(chan error, 1)
	go func() { served <- api.Serve(serving, ln) }()

	loadErr := e.Preload(ctx)
	bars.Wait()
	if loadErr != nil && ctx.Err() == nil {
		// The user asked for these models by name: serving without them would
		// only move the failure to the first request.
		done()
		<-served
		return loadErr
	}
	if ctx.Err() == nil {
		api.SetReady("")
		if queue != nil {
			defer work(ctx, queue, api)()
		}
		if s.Page {
			fmt.Fprintf(a.out, "Open it in a browser: %s/\n", baseURL(ln.Addr()))
		}
		a.greet(e, ln.Addr(), s)
		a.tellAbsent(s)
		if open {
			defer a.browse(ctx, baseURL(ln.Addr())+"/")()
		}
	}
	return <-served
}

// serveJobs are the files and batches of a server, nil where there are to be none.
func (a *app) serveJobs(s *settings.Loaded, log *slog.Logger) (*jobs.Jobs, error) {
	dir, unfound := a.dataDir()
	if dir = filepath.Join(dir, "jobs"); unfound != nil {
		dir = ""
	}
	o, ok := s.JobsOptions(dir, log)
	if !ok {
		return nil, nil
	}
	if o.Dir == "" && len(o.Servers) == 0 {
		log.Debug("files and batches cannot be kept; jobs.dir names a folder", "err", unfound)
		return nil, nil
	}
	return jobs.New(o)
}

// work has the lines of batches run until ctx ends, and what it returns is called, which
// waits for those under way.
func work(ctx context.Context, queue *jobs.Jobs, api *httpapi.API) (wait func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		queue.Work(ctx, api.Line)
	}()
	return func() { stop(); <-done }
}

// setProcs gives the Go scheduler two processors more than the n compute threads,
// so that requests are answered while every thread computes. GOMAXPROCS in the
// environment wins.
func setProcs(n int) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	if n == 0 {
		n = threads.Cores()
	}
	runtime.GOMAXPROCS(n + 2)
}

// listen opens the address, unless that would offer models to the network
// without a key.
func listen(ctx context.Context, s *settings.Loaded) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", s.Listen)
	if err != nil {
		return nil, usageError{fmt.Errorf("listen: %q: %w; write HOST:PORT with a port from 0 to 65535, for example 127.0.0.1:8080", s.Listen, err)}
	}
	if !addr.IP.IsLoopback() && len(s.Auth.Keys) == 0 && !s.Auth.None {
		return nil, usageError{fmt.Errorf(`%s can be reached from other machines, and no API key is set. Either
  set a key: QUERN_API_KEY=… in the environment, or auth: in the configuration
  or allow requests without a key: --no-auth, or auth: none in the configuration`, s.Listen)}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr.String())
	if err == nil {
		return ln, nil
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && bindErrors[errno] != "" {
		err = fmt.Errorf("%s %s", s.Listen, bindErrors[errno])
	}
	return nil, fmt.Errorf("%w; choose another address with --listen (or QUERN_LISTEN, or listen: in the configuration), for example --listen 127.0.0.1:0 for a free port", err)
}

// bindErrors say why an address cannot be listened on. Windows has numbers of its own
// (WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAEACCES).
var bindErrors = map[syscall.Errno]string{
	syscall.EADDRINUSE: inUse, 10048: inUse,
	syscall.EADDRNOTAVAIL: notOurs, 10049: notOurs,
	syscall.EACCES: forbidden, 10013: forbidden,
}

const (
	inUse     = "is in use by another program"
	notOurs   = "is no address of this machine"
	forbidden = "may not be used by this user: ports below 1024 often need an administrator"
)

// baseURL is where this machine reaches addr.
func baseURL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
