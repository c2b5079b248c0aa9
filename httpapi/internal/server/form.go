package server

import (
	"mime"
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// ReadForm reads a multipart body, of which some fields are ignored. The caller closes it.
func (a *API) ReadForm(c *Call, ignored ...string) (_ *body.Form, err error) {
	kind, params, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, fault.New(engine.CodeInvalidValue, "", "this endpoint takes multipart/form-data with the file in a part called \"file\"")
	}
	limit := a.Options.Upload
	sent, src, err := a.incoming(c, limit, "the upload is larger than limits.upload (%d bytes); send less or raise the limit")
	if err != nil {
		return nil, err
	}
	f := body.NewForm(ignored...)
	if err := f.Fill(src, params["boundary"], a.Temp); err != nil {
		f.Close()
		return nil, a.bodyError(c, sent, err, fault.New(engine.CodeInvalidValue, "", "the multipart body is malformed: %v", err))
	}
	c.W.rc.SetReadDeadline(time.Time{})
	return f, nil
}
