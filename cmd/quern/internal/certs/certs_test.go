package certs_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quern/cmd/quern/internal/certs"
	"quern/cmd/quern/internal/certs/certstest"
)

// shown is the name in the certificate a server shows now, or why there is none.
func shown(t *testing.T, s *certs.Source, client *tls.Config) (string, error) {
	t.Helper()
	there, here := net.Pipe()
	defer here.Close()
	failed := make(chan error, 1)
	go func() {
		c := tls.Server(there, s.Config())
		failed <- c.Handshake()
		c.Close()
	}()
	c := tls.Client(here, client)
	if err := c.Handshake(); err != nil {
		return "", err
	}
	go io.Copy(io.Discard, c) // tickets, which the server does not end its handshake without
	if err := <-failed; err != nil {
		return "", err
	}
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

// A certificate that is replaced is shown from the next connection on; files that are of no
// use, or go together only half, change nothing.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	ca := certstest.New(t, "ca")
	f := certs.Files{Cert: filepath.Join(dir, "c.pem"), Key: filepath.Join(dir, "k.pem")}
	age := time.Unix(1e9, 0)
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		age = age.Add(time.Second) // as files written one after another
		if err := os.Chtimes(name, age, age); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := ca.Sign("first")
	put(f.Cert, cert)
	put(f.Key, key)
	var log bytes.Buffer
	s, err := certs.Open(f, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	client := &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
	want := func(name string) {
		t.Helper()
		for range 2 {
			if got, err := shown(t, s, client); err != nil || got != name {
				t.Errorf("%q is shown, %v; want %q", got, err, name)
			}
		}
	}
	want("first")
	cert, key = ca.Sign("second")
	put(f.Cert, cert)
	want("first") // the key is still the other's
	put(f.Key, key)
	want("second")
	put(f.Key, []byte("nonsense"))
	want("second")
	if n := strings.Count(log.String(), "of no use"); n != 2 {
		t.Errorf("the log complains %d times, want 2:\n%s", n, &log)
	}
	if err := os.Remove(f.Cert); err != nil {
		t.Fatal(err)
	}
	want("second")
}

// Clients have to show a certificate that is signed by whom the server trusts.
func TestClients(t *testing.T) {
	dir := t.TempDir()
	ca, other := certstest.New(t, "ca"), certstest.New(t, "other")
	f := certs.Files{Cert: filepath.Join(dir, "c.pem"), Key: filepath.Join(dir, "k.pem"), ClientCA: filepath.Join(dir, "ca.pem")}
	cert, key := ca.Sign("server")
	for name, text := range map[string][]byte{f.Cert: cert, f.Key: key, f.ClientCA: ca.PEM} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := certs.Open(f, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]*certstest.CA{"": nil, "stranger": other, "friend": ca} {
		client := &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
		if from != nil {
			client.Certificates = []tls.Certificate{from.Pair(name)}
		}
		if _, err := shown(t, s, client); (err == nil) != (from == ca) {
			t.Errorf("client %q: %v", name, err)
		}
	}
	for _, broken := range []certs.Files{{}, {Cert: f.Cert, Key: f.ClientCA}, {Cert: f.Cert, Key: f.Key, ClientCA: f.Key}, {Cert: f.Cert, Key: f.Key, ClientCA: dir}} {
		if _, err := certs.Open(broken, nil); err == nil || !strings.HasPrefix(err.Error(), "tls: ") {
			t.Errorf("%+v: %v", broken, err)
		}
	}
}
