package httpapi

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"time"
)

// uploadMemory is how much of an upload is kept in memory; what is more goes to
// a temporary file.
const uploadMemory = 8 << 20

// A form is a multipart body being read field by field. As with an object, the
// first problem is kept and a handler asks once.
type form struct {
	*multipart.Form
	p    problem
	read map[string]bool
}

// readForm reads a multipart body. The caller removes what it keeps on disk.
func (a *API) readForm(c *call) (*form, error) {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, fail(codeInvalidValue, "", "this endpoint takes multipart/form-data with the audio in a part called \"file\"")
	}
	limit := a.o.Upload
	tooLarge := fail(codeTooLarge, "", "the upload is larger than limits.upload (%d bytes); send less or raise the limit", limit)
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	body := &idleReader{r: c.r.Body, w: c.w, idle: a.o.BodyIdle}
	f, err := multipart.NewReader(&countReader{r: body, left: limit}, params["boundary"]).ReadForm(uploadMemory)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, tooLarge
	case err != nil && body.err != nil && body.err != io.EOF:
		return nil, a.bodyError(c, body, err, tooLarge)
	case err != nil:
		return nil, fail(codeInvalidValue, "", "the multipart body is malformed: %v", err)
	}
	c.w.rc.SetReadDeadline(time.Time{})
	return &form{Form: f, read: map[string]bool{}}, nil
}

// values returns every value of a field, under its name with and without [].
func (f *form) values(name string) []string {
	f.read[name], f.read[name+"[]"] = true, true
	return append(slices.Clone(f.Value[name]), f.Value[name+"[]"]...)
}

// str returns a field's last value; "" when it is absent.
func (f *form) str(name string) string {
	v := f.values(name)
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

func (f *form) oneOf(name string, allowed ...string) string {
	s := f.str(name)
	if s != "" && !slices.Contains(allowed, s) {
		f.invalid(name, "must be one of %s, got %.60q", strings.Join(allowed, ", "), s)
	}
	return s
}

func (f *form) boolean(name string) bool {
	switch f.oneOf(name, "true", "false", "1", "0", "True", "False") {
	case "true", "1", "True":
		return true
	}
	return false
}

// off reports whether a boolean field that is on when absent is off.
func (f *form) off(name string) bool { return f.str(name) != "" && !f.boolean(name) }

func (f *form) number(name string, lo, hi float64) (x float64, ok bool) {
	s := f.str(name)
	if s == "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(lo <= x && x <= hi) {
		f.invalid(name, "must be a number between %v and %v, got %.40q", lo, hi, s)
	}
	return x, true
}

func (f *form) ignore(names ...string) {
	for _, n := range names {
		f.read[n], f.read[n+"[]"] = true, true
	}
}

func (f *form) err() error { return f.p.first() }

func (f *form) invalid(name, format string, args ...any) {
	f.p.set(fail(codeInvalidValue, name, name+" "+format, args...))
}

func (f *form) missing(name string) {
	f.p.set(fail(codeMissing, name, "%s is required", name))
}

// file opens the part called file.
func (f *form) file() (multipart.File, int64) {
	parts := f.File["file"]
	if len(parts) == 0 {
		if _, text := f.Value["file"]; text {
			f.invalid("file", "must be sent as a file, with a file name")
		} else {
			f.missing("file")
		}
		return nil, 0
	}
	file, err := parts[0].Open()
	if err != nil {
		f.p.set(fail(codeInternal, "file", "the upload cannot be read"))
		return nil, 0
	}
	return file, parts[0].Size
}
