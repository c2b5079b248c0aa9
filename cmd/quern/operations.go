package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"quern/cmd/quern/internal/settings"
	"quern/httpapi"
)

// operate serves operations at an address of their own, until stop is
// called. Without such an address it does nothing.
func operate(ctx context.Context, s *settings.Loaded, api *httpapi.API, log *slog.Logger) (stop func(), err error) {
	if s.Operations.Listen == "" {
		return func() {}, nil
	}
	ln, err := bind(ctx, s.Operations.Listen)
	if err != nil {
		return nil, fmt.Errorf("operations.listen: %w", err)
	}
	addr := ln.Addr().(*net.TCPAddr)
	profiles := s.Operations.Pprof == "on" || s.Operations.Pprof == "auto" && addr.IP.IsLoopback()
	srv := &http.Server{
		Handler: operations(api, profiles), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	log.Info("operations", "address", addr.String(), "pprof", profiles)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("operations listener failed", "err", err)
		}
	}()
	return func() {
		srv.Close()
		<-done
	}, nil
}

// operations serves metrics, health and profiles for operators. Profiles may contain text of requests.
func operations(api *httpapi.API, profiles bool) http.Handler {
	ops := httpapi.Operations(api)
	if !profiles {
		return ops
	}
	mux := http.NewServeMux()
	mux.Handle("/", ops)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
