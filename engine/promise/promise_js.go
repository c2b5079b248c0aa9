// Package promise waits for what a browser's promises come to.
package promise

import (
	"context"
	"errors"
	"net/http"
	"syscall/js"
)

// Await returns what a promise comes to, or the cause of ctx's end.
func Await(ctx context.Context, promise js.Value) (js.Value, error) {
	type result struct {
		v   js.Value
		err error
	}
	came := make(chan result, 1)
	var kept, broken js.Func
	settled := func(of func(js.Value) result) js.Func {
		return js.FuncOf(func(_ js.Value, args []js.Value) any {
			kept.Release()
			broken.Release()
			came <- of(args[0])
			return nil
		})
	}
	kept = settled(func(v js.Value) result { return result{v: v} })
	broken = settled(func(v js.Value) result {
		return result{err: errors.New(js.Global().Call("String", v).String())}
	})
	promise.Call("then", kept, broken)
	select {
	case r := <-came:
		return r.v, r.err
	case <-ctx.Done():
		return js.Value{}, context.Cause(ctx)
	}
}

// A Body is bytes that come in parts.
type Body struct {
	Next func() (js.Value, error) // the next part, a Uint8Array, or io.EOF
	Stop func()                   // says that no more is wanted

	part js.Value
	at   int // how much of part was read
	err  error
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for b.err == nil && (b.part.IsUndefined() || b.at == b.part.Length()) {
		b.at = 0
		b.part, b.err = b.Next()
	}
	if b.err != nil {
		return 0, b.err
	}
	n := js.CopyBytesToGo(p, b.part.Call("subarray", b.at))
	b.at += n
	return n, nil
}

// Close calls Stop, if more would come.
func (b *Body) Close() error {
	if b.err == nil {
		b.err = http.ErrBodyReadAfterClose
		b.Stop()
	}
	return nil
}
