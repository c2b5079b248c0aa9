package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"quern/cmd/quern/internal/certs"
	"quern/cmd/quern/internal/settings"
	"quern/engine/local"
	"quern/httpapi"
)

// A reloader applies changed settings to a running server.
type reloader struct {
	load   func() (*settings.Loaded, error)
	began  *settings.Loaded // those of its start; fields that need a restart stay so
	now    *settings.Loaded // those in force
	addr   net.Addr
	api    *httpapi.API
	engine *local.Engine
	certs  *certs.Source // nil without TLS
	level  *slog.LevelVar
	log    *slog.Logger
}

// reload reads the settings again. Either all that can change without a restart changes, or,
// with an error, nothing does.
func (f *reloader) reload() error {
	next, err := f.load()
	if err != nil {
		return err
	}
	if err := guarded(f.addr, next); err != nil {
		return err
	}
	if err := f.engine.CheckDrafts(next.EngineOptions(f.log)); err != nil {
		return err
	}
	live, _ := settings.Changed(&f.now.Settings, &next.Settings)
	_, fixed := settings.Changed(&f.began.Settings, &next.Settings)
	if secure := next.TLS.Cert != ""; secure != (f.certs != nil) {
		live = slices.DeleteFunc(live, func(key string) bool { return strings.HasPrefix(key, "tls.") })
		fixed = append(fixed, "tls")
		next.TLS = f.now.TLS
	}
	var loaded certs.Loaded
	if f.certs != nil {
		if loaded, err = certs.Load(certs.Files(next.TLS)); err != nil {
			return err
		}
	}
	// Nothing below can fail.
	if f.certs != nil {
		f.certs.Use(loaded)
	}
	f.api.SetKeys(next.Keys())
	f.engine.SetAliases(next.Aliases)
	f.level.Set(level(next))
	f.now = next
	f.log.Info("settings read again", "file", next.File, "changed", strings.Join(live, " "))
	if len(fixed) > 0 {
		f.log.Warn("settings changed that hold from the next start on", "settings", strings.Join(fixed, " "))
	}
	for _, w := range next.Warnings {
		f.log.Warn(w)
	}
	return nil
}

// catchHangups keeps SIGHUP from ending the program. One that comes before onHangup
// is called waits in the channel.
func catchHangups() (c chan os.Signal, stop func()) {
	c = make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// onHangup calls each with every signal of c, until stop is called.
func onHangup(c <-chan os.Signal, each func()) (stop func()) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-c:
				each()
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		wg.Wait()
	}
}

// guarded refuses settings that would offer models to the network without a key.
func guarded(addr net.Addr, s *settings.Loaded) error {
	if tcp, ok := addr.(*net.TCPAddr); !ok || tcp.IP.IsLoopback() || len(s.Auth.Keys) > 0 || s.Auth.None || s.TLS.ClientCA != "" {
		return nil
	}
	return usageError{fmt.Errorf(`%s can be reached from other machines, and no API key is set. Either
  set a key: QUERN_API_KEY=… in the environment, or auth: in the configuration
  or ask clients for certificates: tls.client_ca in the configuration
  or allow requests without a key: --no-auth, or auth: none in the configuration`, s.Listen)}
}
