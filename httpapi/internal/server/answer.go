package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"quern/httpapi/internal/fault"
)

// WriteJSON answers with v, which must be encodable.
func (a *API) WriteJSON(c *Call, status int, v any) error {
	b, err := Marshal(v)
	if err != nil {
		return err
	}
	return a.Write(c, status, "application/json", append(b, '\n'))
}

// Write answers with b, which is of a media type.
func (a *API) Write(c *Call, status int, mime string, b []byte) error {
	c.release()
	h := c.W.Header()
	h.Set("Content-Type", mime)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	c.W.WriteHeader(status)
	if _, err := c.W.Write(b); err != nil && c.R.Method != http.MethodHead {
		return fault.ErrGone
	}
	return nil
}

// WriteSized answers with the size bytes of a media type that fill writes.
func (a *API) WriteSized(c *Call, mime string, size int64, fill func(io.Writer) error) error {
	c.release() // a slow reader keeps no model
	h := c.W.Header()
	h.Set("Content-Type", mime)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	c.W.WriteHeader(http.StatusOK)
	w := bufio.NewWriterSize(answer{c.W}, 64<<10)
	if err := fill(w); err != nil {
		return err
	}
	return w.Flush()
}

// WriteMade answers with the JSON that write writes. That is called twice, for its size
// and for itself, so that none of it is kept. What it writes is whole unless ctx ended.
func (a *API) WriteMade(ctx context.Context, c *Call, write func(*bufio.Writer)) error {
	var size counter
	w := bufio.NewWriterSize(&size, 64<<10)
	write(w)
	w.Flush()
	if ctx.Err() != nil {
		return fault.Classify(ctx, ctx.Err())
	}
	return a.WriteSized(c, "application/json", int64(size), func(w io.Writer) error {
		b := bufio.NewWriter(w)
		if write(b); ctx.Err() != nil {
			return fault.ErrGone
		}
		return b.Flush()
	})
}

// A counter counts the bytes written to it.
type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// An answer is a response whose failed writes say that the client left.
type answer struct{ w *response }

func (a answer) Write(p []byte) (int, error) {
	n, err := a.w.Write(p)
	if err != nil {
		err = fault.ErrGone
	}
	return n, err
}

// Marshal encodes v on one line and leaves <, > and & as they are.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// AppendString appends a JSON string that says text, which is valid UTF-8.
func AppendString[T string | []byte](b []byte, text T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(text) {
		switch ch := text[i]; {
		case ch < ' ':
			b = append(b, `\u00`...)
			b = append(b, hex[ch>>4], hex[ch&15])
		case ch == '"', ch == '\\':
			b = append(b, '\\', ch)
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}
