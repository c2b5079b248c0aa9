package httpapi

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"time"

	"quern/httpapi/spool"
)

// readForm reads a multipart body. The caller closes it.
func (a *API) readForm(c *call) (_ *form, err error) {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, fail(codeInvalidValue, "", "this endpoint takes multipart/form-data with the audio in a part called \"file\"")
	}
	limit := a.o.Upload
	tooLarge := fail(codeTooLarge, "", "the upload is larger than limits.upload (%d bytes); send less or raise the limit", limit)
	tooLarge.unread = true
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	f := &form{Value: map[string][]string{}, read: map[string]bool{}}
	body := &idleReader{r: c.r.Body, w: c.w, idle: a.o.BodyIdle}
	err = f.fill(multipart.NewReader(&countReader{r: body, left: limit}, params["boundary"]), a.temp)
	if err == nil {
		c.w.rc.SetReadDeadline(time.Time{})
		return f, nil
	}
	f.close()
	var disk *spool.Error
	var known *apiError
	switch {
	case errors.As(err, &known):
		return nil, known
	case errors.As(err, &disk), errors.Is(err, errTooLarge), body.err != nil && body.err != io.EOF:
		return nil, a.bodyError(c, body, err, tooLarge)
	}
	return nil, fail(codeInvalidValue, "", "the multipart body is malformed: %v", err)
}
