package reqlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"

	"quern/engine/trace"
)

// ID keeps a client's id when it is fit for headers and logs.
func ID(given string) string {
	ok := given != "" && len(given) <= 128
	for i := 0; ok && i < len(given); i++ {
		b := given[i]
		ok = 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '.' || b == '_' || b == '-'
	}
	if ok {
		return given
	}
	return NewID("req_")
}

// NewID returns prefix and 24 random hexadecimal digits.
func NewID(prefix string) string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}

type requestKey struct{}

// WithID returns a context whose lines are named id.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Of is the id of a request, "" for none.
func Of(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// Handler passes records on to h and gives those that were logged with the
// context of a request its id, as request=ID, and that of its trace, as trace=ID. The engine has no ids: it
// logs with the context it was called with.
func Handler(h slog.Handler) slog.Handler { return logHandler{h} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := Of(ctx); id != "" {
		r = r.Clone() // other handlers may have it too
		r.AddAttrs(slog.String("request", id))
		if t := trace.From(ctx).ID(); t != "" {
			r.AddAttrs(slog.String("trace", t))
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}
