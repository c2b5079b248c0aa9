// Package certs reloads a server's certificates, and those it requires of clients, as their files change.
package certs

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files are PEM files: the certificate with its chain, its key and, where clients need
// a certificate too, those it must be signed by.
type Files struct{ Cert, Key, ClientCA string }

// A Source is the content of the files. A changed file is used from the next connection on,
// unless it is invalid: then the content before stays in force, and the error is logged.
type Source struct {
	log *slog.Logger

	mu     sync.Mutex
	now    Loaded
	spoilt [3]stamp // of files that were invalid
}

// A Loaded is the content of files at a time.
type Loaded struct {
	files  Files
	stamps [3]stamp
	config *tls.Config
}

// A stamp changes when a file does.
type stamp struct {
	mod  time.Time
	size int64
}

// Open reads the files.
func Open(f Files, log *slog.Logger) (*Source, error) {
	l, err := Load(f)
	if err != nil {
		return nil, err
	}
	return &Source{log: log, now: l}, nil
}

// Load reads files, for Use.
func Load(f Files) (Loaded, error) {
	l := Loaded{files: f, stamps: stamps(f)} // a change while they are read is seen later
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return l, fmt.Errorf("tls: %s with the key %s: %w", f.Cert, f.Key, err)
	}
	l.config = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}}
	if f.ClientCA == "" {
		return l, nil
	}
	text, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return l, fmt.Errorf("tls: client_ca: %w", err)
	}
	l.config.ClientAuth, l.config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !l.config.ClientCAs.AppendCertsFromPEM(text) {
		return l, fmt.Errorf("tls: client_ca: %w", errors.New(f.ClientCA+" has no certificate in PEM form"))
	}
	return l, nil
}

// Use uses l for connections from now on.
func (s *Source) Use(l Loaded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = l
}

// Config is for a listener. Connections use the files' content of when they begin.
func (s *Source) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current(), nil }}
}

func (s *Source) current() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := stamps(s.now.files)
	if at == s.now.stamps || at == s.spoilt {
		return s.now.config
	}
	l, err := Load(s.now.files)
	if err != nil {
		s.spoilt = at
		s.log.Error("certificates that changed are of no use, those before stay", "err", err)
		return s.now.config
	}
	s.log.Info("certificates read again", "file", s.now.files.Cert)
	s.now = l
	return l.config
}

func stamps(f Files) (out [3]stamp) {
	for i, name := range []string{f.Cert, f.Key, cmp.Or(f.ClientCA, f.Cert)} {
		if st, err := os.Stat(name); err == nil {
			out[i] = stamp{st.ModTime(), st.Size()}
		}
	}
	return out
}
