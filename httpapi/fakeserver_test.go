package httpapi_test

import (
	"log/slog"
	"net"
	"os"
	"os/signal"
	"testing"

	"quern/httpapi"
)

// TestFakeServer serves the fake engine for client scripts until it is
// interrupted, when QUERN_FAKE_ADDR names an address:
//
//	QUERN_FAKE_ADDR=127.0.0.1:8099 go test -run TestFakeServer -timeout 0 ./httpapi
func TestFakeServer(t *testing.T) {
	addr := os.Getenv("QUERN_FAKE_ADDR")
	if addr == "" {
		t.Skip("QUERN_FAKE_ADDR is not set")
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	o := httpapi.Options{Engine: &fake{}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if os.Getenv("AUTH") != "0" {
		o.Keys = []httpapi.Key{fakeKey}
	}
	if err := newAPI(t, o).Serve(ctx, ln); err != nil {
		t.Fatal(err)
	}
}
