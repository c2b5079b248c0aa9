package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/batch"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/guard"
)

// maxLineAnswer is what the answer to a line may have. It is in memory until it is stored.
const maxLineAnswer = 64 << 20

// Line answers a line of a batch as it answers its owner, in the background: through the
// same handlers, with the same limits and failures, but for the time it may take, which is
// the batch's. open opens the files of the owner that the line names.
func (a *API) Line(ctx context.Context, owner string, l batch.Line, open func(ctx context.Context, id string) (batch.File, io.ReadSeekCloser, error)) batch.Answer {
	ctx, cancel := context.WithCancel(context.WithValue(engine.InBackground(ctx), lineOwner{}, owner))
	defer cancel()
	var body io.Reader = bytes.NewReader(l.Body)
	kind := "application/json"
	if strings.HasPrefix(l.Endpoint, "/v1/audio/") {
		form, err := newLineForm(ctx, l.Body, open)
		if err != nil {
			var bad *fault.Error
			if !errors.As(fault.Classify(ctx, err), &bad) {
				return batch.Answer{Retry: true}
			}
			text, _ := Marshal(bad.Body())
			return batch.Answer{Status: bad.Status, JSON: true, Body: text, Retry: bad.Retry, After: bad.After}
		}
		defer form.Close()
		body, kind = form, form.kind
	}
	if !a.takeTurn(ctx, l) {
		return batch.Answer{Retry: true}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Endpoint, body)
	if err != nil {
		return batch.Answer{Retry: true}
	}
	r.Header.Set("Content-Type", kind)
	w := &recorder{header: http.Header{}}
	if !a.serveWhole(w, r) || ctx.Err() != nil {
		return batch.Answer{Retry: true}
	}
	out := batch.Answer{Status: w.status, RequestID: w.header.Get("x-request-id"), Body: w.body.Bytes(),
		JSON: strings.HasPrefix(w.header.Get("Content-Type"), "application/json"), Warnings: w.header.Values(guard.WarningHeader)}
	if w.over {
		big := fault.New(fault.CodeTooLarge, "", "the answer has more than %s, the most a line of a batch may have; ask for less", engine.MiB(maxLineAnswer))
		out.Status, out.JSON = big.Status, true
		out.Body, _ = Marshal(big.Body())
	}
	if out.Status == http.StatusTooManyRequests || out.Status == http.StatusServiceUnavailable && w.header.Get("x-should-retry") == "true" {
		seconds, _ := strconv.Atoi(w.header.Get("Retry-After"))
		out.Retry, out.After = true, time.Duration(seconds)*time.Second
	}
	return out
}

// takeTurn waits until a line may begin, and reports whether ctx goes on.
func (a *API) takeTurn(ctx context.Context, l batch.Line) bool {
	kind, ok := takeTurns[l.Endpoint]
	if !ok {
		return true
	}
	var body struct{ Model string }
	_ = json.Unmarshal(l.Body, &body) // what is wrong with it the handler says
	m, err := a.Options.Engine.Find(body.Model, kind)
	return err != nil || a.busy.turn(ctx, m.Info().ID)
}

// serveWhole reports whether a request was answered to the end: a panic is how an answer is
// cut.
func (a *API) serveWhole(w http.ResponseWriter, r *http.Request) (whole bool) {
	defer func() {
		if p := recover(); p != nil {
			whole = false
		}
	}()
	a.ServeHTTP(w, r)
	return true
}

// lineOwner is the key of contexts of lines.
type lineOwner struct{}

// lineKey is the key of the owner of a line; ok is false where it is not one of this
// server's any more.
func (a *API) lineKey(owner string) (key guard.Key, ok bool) {
	keys := a.Keys()
	if len(keys) == 0 {
		return guard.Key{}, owner == ""
	}
	i := slices.IndexFunc(keys, func(k guard.Key) bool { return hex.EncodeToString(k.SHA256[:]) == owner })
	if i < 0 {
		return guard.Key{}, false
	}
	key = keys[i]
	key.Manage = false
	return key, true
}

// OwnerID is Owner as files and batches have it.
func (c *Call) OwnerID() string { return hex.EncodeToString([]byte(c.owner)) }

// A recorder is a client of one answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	over   bool
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.over = w.over || w.body.Len()+len(p) > maxLineAnswer; !w.over {
		w.body.Write(p)
	}
	return len(p), nil
}

// A lineForm is the body of a line as a form, with the file it names.
type lineForm struct {
	*io.PipeReader
	kind string
	done chan struct{}
}

// Close waits until the goroutine that reads the file has ended.
func (f *lineForm) Close() error {
	f.PipeReader.Close()
	<-f.done
	return nil
}

func newLineForm(ctx context.Context, body json.RawMessage, open func(ctx context.Context, id string) (batch.File, io.ReadSeekCloser, error)) (*lineForm, error) {
	fields := map[string]json.RawMessage{}
	var id string
	if err := errors.Join(json.Unmarshal(body, &fields), json.Unmarshal(fields["file"], &id)); err != nil {
		return nil, fault.New(engine.CodeInvalidValue, "file", "file must be the id of an uploaded file")
	}
	delete(fields, "file")
	values := map[string][]string{}
	for name, raw := range fields {
		list, err := formValues(raw)
		if err != nil {
			return nil, fault.New(engine.CodeInvalidValue, name, "%s must be a string, a number, a boolean or a list of them", name)
		}
		values[name] = list
	}
	f, content, err := open(ctx, id)
	if errors.Is(err, batch.ErrNotFound) {
		return nil, fault.New(fault.CodeNotFound, "file", "there is no file %.100q; upload it first, with the key that makes the batch", id)
	} else if err != nil {
		return nil, FromJobs(err)
	}
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	out := &lineForm{r, form.FormDataContentType(), make(chan struct{})}
	go func() {
		defer close(out.done)
		defer content.Close()
		w.CloseWithError(func() error {
			for _, name := range slices.Sorted(maps.Keys(values)) {
				for _, v := range values[name] {
					if err := form.WriteField(name, v); err != nil {
						return err
					}
				}
			}
			part, err := form.CreateFormFile("file", f.Filename)
			if err != nil {
				return err
			}
			if _, err := io.Copy(part, content); err != nil {
				return err
			}
			return form.Close()
		}())
	}()
	return out, nil
}

// formValues are the values of a field that JSON gives.
func formValues(raw json.RawMessage) ([]string, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var out []string
	for _, raw := range list {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case nil:
		case string:
			out = append(out, v)
		case float64, bool:
			out = append(out, string(raw))
		default:
			return nil, errors.New("an object or a list")
		}
	}
	return out, nil
}

// FromJobs says what a failure of Jobs is to a client.
func FromJobs(err error) error {
	var full *batch.FullError
	var away *batch.AwayError
	switch {
	case errors.As(err, &full):
		left, mend := "", "raise jobs.max_bytes"
		if full.Left >= 0 {
			left = ", " + engine.MiB(full.Left) + " are left"
		}
		if full.Disk {
			mend = "make room on the disk of jobs.dir"
		}
		e := fault.New(engine.CodeStoreFull, "", "the store of files and batches is full%s; delete files that are no longer needed, or %s", left, mend)
		e.Cause = full.Err
		return e
	case errors.As(err, &away):
		e := fault.New(fault.CodeStoreAway, "", "the store of files, batches and responses cannot be reached now; try again later")
		e.After, e.Cause = 5*time.Second, away.Err
		return e
	case errors.Is(err, batch.ErrLines):
		e := fault.New(fault.CodeTooLarge, "file", "the file has more than %d lines, the most of a batch; send several", batch.MaxLines)
		return e
	}
	return err
}
