package server

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// ReadForm reads a multipart body, of which some fields are ignored. The caller closes it.
func (a *API) ReadForm(c *Call, ignored ...string) (*body.Form, error) {
	return a.ReadComingForm(c, nil, ignored...)
}

// ReadComingForm is ReadForm, but where early says so, of the fields before the file and
// its first bytes, the file is read while it is being sent. The answer may begin before
// that ends.
func (a *API) ReadComingForm(c *Call, early func(f *body.Form, head []byte) bool, ignored ...string) (*body.Form, error) {
	kind, params, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, fault.New(engine.CodeInvalidValue, "", "this endpoint takes multipart/form-data with the file in a part called \"file\"")
	}
	limit := a.Options.Upload
	sent, src, err := a.incoming(c, limit, "the upload is larger than limits.upload (%d bytes); send less or raise the limit")
	if err != nil {
		return nil, err
	}
	plain, err := a.inflated(c, sent, src, limit)
	if err != nil {
		return nil, err
	}
	f := body.NewForm(ignored...)
	var at func([]byte) bool
	if early != nil {
		at = func(head []byte) bool { return early(f, head) }
	}
	if err := f.Fill(plain, params["boundary"], a.Temp, at); err != nil {
		f.Close()
		return nil, a.bodyError(c, sent, err, malformed(err))
	}
	if !f.Coming() {
		c.W.rc.SetReadDeadline(time.Time{})
		return f, nil
	}
	if c.R.ProtoMajor == 1 {
		// net/http cannot take the next request of a connection whose body it has to read the
		// end of after a handler that wrote while it read.
		c.W.Header().Set("Connection", "close")
	}
	c.W.rc.EnableFullDuplex()
	// Opus writes little of pauses: the average counts after the longest session of live sound.
	sent.grace = a.Options.Realtime.Total
	c.sent = sent
	return f, nil
}

func malformed(err error) *fault.Error {
	why := err.Error()
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		why = "a long line stands where the boundary should that the Content-Type header names"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		why = "it ends before the closing boundary, that of the Content-Type header with -- behind it"
	}
	return fault.New(engine.CodeInvalidValue, "", "the multipart body is malformed: %s", why)
}

// ComingError says why a body could not be read that is answered while it is being sent.
// Failures that have their words keep them.
func (a *API) ComingError(c *Call, err error) error {
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		return err
	}
	return a.bodyError(c, c.sent, err, malformed(err))
}

// unread reports whether a body is answered that is still being sent.
func (c *Call) unread() bool { return c.sent != nil && !c.sent.all.Load() }

// ReadBeside has read read a body that is being sent, beside the answer. What it leaves is
// thrown away, for a while after the answer, so that a client that is still writing gets
// to see that.
func (c *Call) ReadBeside(read func()) {
	c.sent.done = make(chan struct{})
	go func() {
		defer close(c.sent.done)
		read()
		if c.unread() {
			io.CopyN(io.Discard, c.sent, drainBytes)
		}
	}()
}

// BodyEnded says that a body that is being sent is there as a whole.
func (c *Call) BodyEnded() {
	c.sent.all.Store(true)
	c.W.rc.SetReadDeadline(time.Time{})
}

// endBody waits, after the answer, until the goroutine that reads the body has ended.
func (c *Call) endBody() {
	r := c.sent
	if r == nil || r.done == nil {
		return
	}
	if c.unread() {
		c.W.Flush()
		r.mu.Lock()
		r.over = true
		c.W.rc.SetReadDeadline(time.Now().Add(drainTime))
		r.mu.Unlock()
	}
	<-r.done
}
