package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"quern/engine/local"
	"quern/httpapi"
	"quern/kernels/threads"
)

func (a *app) serveCmd() *cobra.Command {
	var printConfig bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the OpenAI API over HTTP",
		Long: `Serves models over the OpenAI API: chat, completions, embeddings, reranking, speech and
transcription.

Settings come from flags, then environment variables, then the configuration file,
then defaults. Without any, the built-in model answers on 127.0.0.1:8080. An address
other machines can reach needs API keys, or --no-auth said on purpose.

SIGTERM or Ctrl-C lets running requests finish (shutdown_grace, 30s); a second one
ends the program at once.`,
		Example: `  quern serve
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
		Annotations: map[string]string{envAnnotation: `  QUERN_LISTEN      as --listen
  QUERN_API_KEY     a key clients must send, beside those of the configuration
  QUERN_CONFIG      as --config
  QUERN_MODELS      as --models; several folders separated as in PATH
  QUERN_THREADS, QUERN_DEVICE, QUERN_LOG_LEVEL, QUERN_LOG_FORMAT   as the flags
  QUERN_CPU         highest CPU level used: generic, avx2, avx512 or amx (for measurements)`},
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.load(cmd, "info")
			if err != nil {
				return err
			}
			if printConfig {
				a.logger(s) // for its warnings
				return printSettings(a.out, s)
			}
			return a.serve(cmd.Context(), s)
		},
	}
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the effective settings and end")
	group(cmd.Flags(), "print-config", groupFlags)
	addSettings(cmd, "listen", "no-auth", "request-timeout", "model", "models", "builtin", "context-length",
		"slots", "cache-type", "quantize", "vad", "keep-alive", "threads", "device", "gpu-layers", "memory-limit", "log-level", "log-format")
	return cmd
}

func printSettings(w io.Writer, s *loaded) error {
	from := "defaults, environment and flags"
	if s.file != "" {
		from = s.file + ", environment and flags"
	}
	b, err := yaml.Marshal(&s.settings)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "# effective settings, from %s\n%s", from, b)
	return err
}

// serve runs the server until a signal ends it.
func (a *app) serve(parent context.Context, s *loaded) error {
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
	defer bars.wait()
	o := s.engineOptions(log)
	o.Progress = bars.update
	e, err := local.New(o)
	if err != nil {
		return err
	}
	defer e.Close()
	api, err := httpapi.New(s.apiOptions(e, log))
	if err != nil {
		return err
	}
	api.SetReady("models are being loaded")
	fmt.Fprintf(a.out, "quern is listening on %s\n", baseURL(ln.Addr()))
	if s.file != "" {
		log.Info("configuration read", "file", s.file)
	}

	serving, done := context.WithCancel(ctx)
	defer done()
	served := make(chan error, 1)
	go func() { served <- api.Serve(serving, ln) }()

	loadErr := e.Preload(ctx)
	bars.wait()
	if loadErr != nil && ctx.Err() == nil {
		// Somebody asked for these models by name: serving without them would
		// only move the failure to the first request.
		done()
		<-served
		return loadErr
	}
	if ctx.Err() == nil {
		api.SetReady("")
		a.greet(e, ln.Addr(), s)
		a.tellAbsent(s)
	}
	return <-served
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
func listen(ctx context.Context, s *loaded) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", s.Listen)
	if err != nil {
		return nil, usageError{fmt.Errorf("listen: %q: %w; write HOST:PORT with a port from 0 to 65535, for example 127.0.0.1:8080", s.Listen, err)}
	}
	if !addr.IP.IsLoopback() && len(s.Auth.Keys) == 0 && !s.Auth.None {
		return nil, usageError{fmt.Errorf(`%s can be reached from other machines, and no API key is set. Either
  set a key: QUERN_API_KEY=… in the environment, or auth: in the configuration
  or allow everybody on purpose: --no-auth, or auth: none in the configuration`, s.Listen)}
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

// apiOptions translates s for httpapi.New.
func (s *settings) apiOptions(e httpapi.Engine, log *slog.Logger) httpapi.Options {
	o := httpapi.Options{
		Engine:            e,
		NoAuth:            s.Auth.None,
		AllowedHosts:      s.AllowedHosts,
		AllowedOrigins:    s.CORS.AllowedOrigins,
		JSONBody:          int64(s.Limits.JSONBody),
		Upload:            int64(s.Limits.Upload),
		TempFiles:         int64(s.Limits.TempFiles),
		SpeechChars:       s.Limits.SpeechChars,
		MaxN:              s.Limits.MaxN,
		MaxLogprobs:       s.Limits.MaxLogprobs,
		CompletionsTokens: s.CompletionsTokens,
		DefaultMaxTokens:  s.DefaultMaxTokens,
		RequestTimeout:    s.RequestTimeout.orOff(),
		RequestTimeouts:   map[string]time.Duration{},
		LoadTimeout:       s.LoadTimeout.std(),
		MemoryWait:        s.MemoryWait.std(),
		StreamWrite:       s.StreamWrite.orOff(),
		Stall:             s.StallTimeout.orOff(),
		KeepAlive:         s.KeepAliveInterval.orOff(),
		HeaderDelay:       s.HeaderDelay.orOff(),
		ShutdownGrace:     s.ShutdownGrace.orOff(),
		MetricsPublic:     s.Metrics.Public,
		VLLMNames:         &s.Metrics.VLLMNames,
		Version:           thisBuild().Version,
		Log:               log,
	}
	for path, d := range s.RequestOverrides {
		o.RequestTimeouts[path] = d.orOff()
	}
	for _, k := range s.Auth.Keys {
		key := httpapi.Key{Name: k.Name}
		// check has made sure of 64 hexadecimal digits.
		if n, err := hex.Decode(key.SHA256[:], []byte(k.SHA256)); err != nil || n != len(key.SHA256) {
			panic(fmt.Sprintf("quern: hash of key %q was not checked", k.Name))
		}
		o.Keys = append(o.Keys, key)
	}
	return o
}
