package promise_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall/js"
	"testing"

	"quern/engine/promise"
)

func Example() {
	parts := []string{"to", "", "gether"}
	b := &promise.Body{
		Next: func() (js.Value, error) {
			if len(parts) == 0 {
				return js.Value{}, io.EOF
			}
			part := js.Global().Get("TextEncoder").New().Call("encode", parts[0])
			parts = parts[1:]
			return promise.Await(context.Background(), js.Global().Get("Promise").Call("resolve", part))
		},
		Stop: func() { fmt.Println("stopped") },
	}
	text, err := io.ReadAll(b)
	fmt.Println(string(text), err, b.Close())
	// Output:
	// together <nil> <nil>
}

func TestAwait(t *testing.T) {
	promises := js.Global().Get("Promise")
	if _, err := promise.Await(t.Context(), promises.Call("reject", js.Global().Get("Error").New("no"))); err == nil || err.Error() != "Error: no" {
		t.Errorf("a rejected promise is %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	never := promises.Call("race", js.Global().Get("Array").New())
	if _, err := promise.Await(ctx, never); err != gone {
		t.Errorf("where the context has ended: %v, want its cause", err)
	}
}

func TestClose(t *testing.T) {
	stops := 0
	b := &promise.Body{Next: func() (js.Value, error) { return js.Value{}, io.EOF }, Stop: func() { stops++ }}
	if err := errors.Join(b.Close(), b.Close()); err != nil || stops != 1 {
		t.Errorf("closed twice: %v, and %d stops", err, stops)
	}
	if n, err := b.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("read behind Close: %d, %v", n, err)
	}
}
