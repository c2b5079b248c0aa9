package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/certs"
	"quern/cmd/quern/internal/doctor"
	"quern/cmd/quern/internal/notify"
	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/telemetry"
	"quern/engine/hub"
	"quern/engine/local"
	"quern/httpapi"
	"quern/httpapi/audit"
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
ends the program at once. SIGHUP has keys, certificates, aliases and the level of the
log read again; a configuration with a mistake changes nothing.`,
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
			if open && strings.HasPrefix(s.Listen, settings.Unix) {
				return usageError{fmt.Errorf("--open opens the page, and no browser can open %s; leave --open out, or listen on a port", s.Listen)}
			}
			if open && !s.Page {
				return usageError{errors.New("--open opens the page, and the configuration says page: false; leave one of them out")}
			}
			return a.serve(cmd.Context(), s, func() (*settings.Loaded, error) { return a.read(cmd) }, open)
		},
	}
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the effective settings and end")
	settings.Group(cmd.Flags(), "print-config", settings.General)
	cmd.Flags().BoolVar(&open, "open", false, "open the page in a browser")
	settings.Group(cmd.Flags(), "open", settings.Server)
	settings.AddFlags(cmd)
	return cmd
}

// serve runs the server until a signal ends it. Once it is ready it opens the page, if open
// is true. again reads the settings again.
func (a *app) serve(parent context.Context, s *settings.Loaded, again func() (*settings.Loaded, error), open bool) error {
	ctx, stop := signals(parent, serverSignals...)
	defer stop()
	hangups, uncaught := catchHangups()
	defer uncaught()
	log := a.logger(s)
	setProcs(s.Threads)

	ln, err := listen(ctx, s)
	if err != nil {
		return err
	}
	defer ln.Close()
	var shown *certs.Source
	if s.TLS.Cert != "" {
		if shown, err = certs.Open(certs.Files(s.TLS), log); err != nil {
			return err
		}
		ln = tls.NewListener(ln, shown.Config())
	}
	base := baseURL(ln.Addr(), shown != nil)
	started := *s // resolveHub changes the models of s
	started.Models = slices.Clone(s.Models)

	if err := a.resolveHub(ctx, s, log); err != nil {
		return err
	}
	bars := a.progress("loading")
	defer bars.Wait()
	o := s.EngineOptions(log)
	o.Progress = bars.Update
	var unfound error // of the folder that models are pulled to; only pulls need it
	if o.Store, unfound = a.storeDir(s); unfound != nil {
		log.Debug("models cannot be pulled", "err", unfound)
	} else {
		o.Stored = hub.Store{Dir: o.Store}.Named
	}
	e, err := local.New(o)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.CheckDrafts(o); err != nil {
		return usageError{err}
	}
	ao := s.APIOptions(e, thisBuild().Version, log)
	ao.Connections = connections(doctor.OpenFiles())
	ao.Revision, ao.Instance = thisBuild().Commit, instance(s.Instance)
	if s.Traces.Endpoint != "" {
		t, err := telemetry.Open(ctx, telemetry.Options{Endpoint: s.Traces.Endpoint, Service: s.Traces.Service, Version: ao.Version, Instance: ao.Instance,
			Sample: float64(s.Traces.Sample), Log: log})
		if err != nil {
			return err
		}
		defer t.Close() // spans that are not sent by then are dropped, which is logged
		ao.Tracer = t
	}
	var audited *audit.Log
	if s.Audit.File != "" {
		if audited, err = audit.Open(s.Audit.File); err != nil {
			return err
		}
		defer audited.Close()
		ao.Audit = audited
	}
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
		if s.Responses.Store == "jobs" {
			ao.Responses.Archive = queue
		}
	}
	api, err := httpapi.New(ao)
	if err != nil {
		return err
	}
	api.SetReady("models are being loaded")
	stopOperations, err := operate(ctx, s, api, log)
	if err != nil {
		return err
	}
	defer stopOperations()
	f := &reloader{load: again, began: &started, now: &started, addr: ln.Addr(), api: api, engine: e, certs: shown, level: &a.level, log: log}
	defer onHangup(hangups, func() {
		if audited != nil {
			if err := audited.Reopen(); err != nil {
				log.Error("the audit log goes on in the file it had", "err", err)
			}
		}
		if err := f.reload(); err != nil {
			log.Error("settings not read again, those before stay", "err", err)
		}
	})()
	behind := base
	if ln.Addr().Network() == "unix" {
		behind = s.Listen
	}
	fmt.Fprintf(a.out, "quern is listening on %s\n", behind)
	if s.File != "" {
		log.Info("configuration read", "file", s.File)
	}
	if ao.Instance != "" {
		log.Info("serving", "address", ln.Addr().String(), "instance", ao.Instance)
	}

	serving, done := context.WithCancel(ctx)
	defer done()
	served := make(chan error, 1)
	go func() { served <- api.Serve(serving, ln) }()

	loadErr := e.Preload(ctx)
	if loadErr == nil && s.WarmUp {
		loadErr = e.Warm(ctx)
	}
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
		a.notifyManager(notify.Ready, log)
		if queue != nil {
			defer work(ctx, queue, api)()
		}
		if s.Page && behind == base {
			fmt.Fprintf(a.out, "Open it in a browser: %s/\n", base)
		}
		a.greet(e, base, s)
		a.printAbsent(s)
		if open {
			defer a.browse(ctx, base+"/")()
		}
	}
	select {
	case err := <-served:
		if ctx.Err() != nil { // an idle server ends at once
			a.notifyManager(notify.Stopping, log)
		}
		return err
	case <-ctx.Done():
		a.notifyManager(notify.Stopping, log)
		return <-served
	}
}

// notifyManager sends the server's state to a service manager.
func (a *app) notifyManager(state string, log *slog.Logger) {
	socket, _ := a.env("NOTIFY_SOCKET")
	if err := notify.Send(socket, state); err != nil {
		log.Warn("the service manager cannot be told", "state", state, "err", err)
	}
}

// instance is the name of this server in answers, "" for none.
func instance(setting string) string {
	switch setting {
	case settings.AutoInstance:
		var b [4]byte
		rand.Read(b[:]) // never fails
		return hex.EncodeToString(b[:])
	case settings.NoInstance:
		return ""
	}
	return setting
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
		if o.ResponseBytes > 0 {
			return nil, fmt.Errorf("responses.store is jobs, and there is no folder for that: %w; name one (jobs.dir)", unfound)
		}
		log.Debug("files and batches cannot be kept; jobs.dir names a folder", "err", unfound)
		return nil, nil
	}
	return jobs.New(o)
}

// work runs the lines of batches until ctx ends or wait is called, which returns when those
// under way have ended.
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

// connections is how many may be open at a time where the process may open so many files, 0 if
// that is not known: half of them, as a request may need a file beside its connection, and
// models need theirs.
func connections(files uint64) int {
	const most = 1 << 14 // a quarter of a gigabyte where they are idle
	if files == 0 || files > 2*most {
		return most
	}
	return int(files) / 2
}

// listen opens the address, unless that would offer models to the network
// without a key.
func listen(ctx context.Context, s *settings.Loaded) (net.Listener, error) {
	const another = "%w; choose another address with --listen (or QUERN_LISTEN, or listen: in the configuration)"
	if path, ok := strings.CutPrefix(s.Listen, settings.Unix); ok {
		ln, err := bindUnix(ctx, path)
		if err != nil {
			return nil, fmt.Errorf(another, err)
		}
		return ln, nil
	}
	addr, err := net.ResolveTCPAddr("tcp", s.Listen)
	if err != nil {
		return nil, usageError{fmt.Errorf("listen: %q: %w; write HOST:PORT with a port from 0 to 65535, for example 127.0.0.1:8080", s.Listen, err)}
	}
	if err := guarded(addr, s); err != nil {
		return nil, err
	}
	ln, err := bind(ctx, s.Listen)
	if err != nil {
		return nil, fmt.Errorf(another+", for example --listen 127.0.0.1:0 for a free port", err)
	}
	return ln, nil
}

// alive closes a connection after a minute whose peer does not answer any more: machines
// that lost power and networks that were cut send no FIN.
var alive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}

// bind opens an address.
func bind(ctx context.Context, address string) (net.Listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: alive}
	ln, err := lc.Listen(ctx, "tcp", address)
	if errno, ok := errors.AsType[syscall.Errno](err); ok && bindErrors[errno] != "" {
		err = fmt.Errorf("%s %s", address, bindErrors[errno])
	}
	return ln, err
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
func baseURL(addr net.Addr, secure bool) string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return scheme + "localhost" // behind a socket of this machine
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port)
}
