package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/cmd/quern/internal/certs/certstest"
)

// The API over TLS: HTTP/2 and 1.1, streamed, for clients with a certificate only.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	ca := certstest.New(t, "ca")
	cert, key := ca.Sign("server")
	for name, text := range map[string][]byte{"c.pem": cert, "k.pem": key, "ca.pem": ca.PEM} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "quern.yaml")
	write(t, file, "tls: {cert: c.pem, key: k.pem, client_ca: ca.pem}")
	p := start(t, nil, "serve", "--listen", "0.0.0.0:0", "--config", file)
	base := strings.Replace(p.wait(t, `listening on (https://\S+)\n`)[1], "127.0.0.1", "localhost", 1)
	p.wait(t, `Try`)
	ask := func(two bool, pairs ...tls.Certificate) (string, string, error) {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), Certificates: pairs}, ForceAttemptHTTP2: two}
		defer tr.CloseIdleConnections()
		res, err := (&http.Client{Transport: tr}).Post(base+"/v1/chat/completions", "application/json", strings.NewReader(franceBody+`, "stream": true}`))
		if err != nil {
			return "", "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.Proto, string(b), err
	}
	for two, want := range map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"} {
		if proto, text, err := ask(two, ca.Pair("client")); err != nil || proto != want || !strings.HasSuffix(text, "data: [DONE]\n\n") {
			t.Errorf("%s, %v: %s", proto, err, text)
		}
	}
	if _, _, err := ask(true); err == nil {
		t.Error("a client without a certificate is answered")
	}
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}
