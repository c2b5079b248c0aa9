package server

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/spool"
)

// ReadForm reads a multipart body. The caller closes it.
func (a *API) ReadForm(c *Call) (_ *body.Form, err error) {
	kind, params, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, fault.New(engine.CodeInvalidValue, "", "this endpoint takes multipart/form-data with the audio in a part called \"file\"")
	}
	limit := a.Options.Upload
	tooLarge := fault.New(fault.CodeTooLarge, "", "the upload is larger than limits.upload (%d bytes); send less or raise the limit", limit)
	tooLarge.Unread = true
	if c.R.ContentLength > limit {
		return nil, tooLarge
	}
	f := body.NewForm()
	sent := &idleReader{r: c.R.Body, w: c.W, idle: a.Options.BodyIdle}
	err = f.Fill(multipart.NewReader(&countReader{r: sent, left: limit}, params["boundary"]), a.Temp)
	if err == nil {
		c.W.rc.SetReadDeadline(time.Time{})
		return f, nil
	}
	f.Close()
	var disk *spool.Error
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return nil, known
	case errors.As(err, &disk), errors.Is(err, errTooLarge), sent.err != nil && sent.err != io.EOF:
		return nil, a.bodyError(c, sent, err, tooLarge)
	}
	return nil, fault.New(engine.CodeInvalidValue, "", "the multipart body is malformed: %v", err)
}
