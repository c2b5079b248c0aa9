package body

import (
	"bufio"
	"io"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/spool"
)

// Limits of a form beside its file.
const (
	formParts  = 1000
	formValues = 64 << 10 // bytes of names and values that are kept
	formHead   = 64 << 10 // bytes before a part: the end of another, and its header
	fileHead   = 16       // bytes of a file by which its format is recognised
	formLong   = 12 << 20 // bytes of longField: four sounds of 10 s, as base64
)

// longField is the field whose values are sounds.
const longField = "known_speaker_references"

// A Form is a multipart body being read field by field. As with an object, the
// first problem is kept and a handler asks once.
type Form struct {
	Value  map[string][]string
	upload *spool.Spool // nil when there is none
	name   string       // of the file
	p      problem
	read   map[string]bool

	parts   *multipart.Reader
	head    *headReader
	left    int64     // bytes of values there is room for
	long    int64     // the same of longField
	count   int       // parts so far
	coming  io.Reader // the file, while it is being sent; else nil
	ignored map[string]bool
	asFile  map[string]bool // fields that came with a file name, beside the file
}

// NewForm is one of no fields, which will take some without effect and not keep them.
func NewForm(ignored ...string) *Form {
	f := &Form{Value: map[string][]string{}, read: map[string]bool{}, ignored: map[string]bool{}, asFile: map[string]bool{}}
	for _, n := range ignored {
		f.read[n], f.read[n+"[]"] = true, true
		f.ignored[n], f.ignored[n+"[]"] = true, true
	}
	return f
}

// A headReader fails when more than left bytes are read of it before a part begins.
type headReader struct {
	r    io.Reader
	left int // negative is any
}

func (h *headReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if h.left >= 0 {
		if h.left -= n; h.left < 0 {
			return 0, unreadf("the header of a part is larger than %d bytes", formHead)
		}
	}
	return n, err
}

// Fill reads all parts: the file called "file" into a Spool of temp, values
// into memory. A second is refused. Other files are skipped, and fields that are ignored.
//
// Where early says so, of the fields before the file and its first bytes, it stops at the
// file, which is then read while it is being sent. Rest reads the fields after it.
func (f *Form) Fill(src io.Reader, boundary string, temp *spool.Pool, early func(head []byte) bool) error {
	f.head = &headReader{r: src}
	f.parts, f.left, f.long = multipart.NewReader(f.head, boundary), formValues, formLong
	for {
		p, name, err := f.part()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case f.ignored[name]:
		case p.FileName() == "":
			room, limit := &f.left, formValues
			if strings.TrimSuffix(name, "[]") == longField {
				room, limit = &f.long, formLong
			}
			b, err := io.ReadAll(io.LimitReader(p, *room+1))
			if err != nil {
				return err
			}
			if *room -= int64(len(name) + len(b)); *room < 0 {
				return unreadf("the fields beside the file are larger than %d bytes", limit)
			}
			f.Value[name] = append(f.Value[name], string(b))
		case name == "file" && f.upload != nil:
			return twice()
		case name == "file":
			f.name = p.FileName()
			file := bufio.NewReader(p)
			if early != nil {
				if head, _ := file.Peek(fileHead); early(head) { // errors come again
					f.coming = file
					return nil
				}
			}
			f.upload = temp.New()
			if _, err := io.Copy(f.upload, file); err != nil {
				return err
			}
			if _, err := f.upload.Seek(0, io.SeekStart); err != nil {
				return err
			}
		default:
			f.asFile[name] = true
		}
		if _, err := io.Copy(io.Discard, p); err != nil {
			return err
		}
	}
}

// part is the next part with its name; io.EOF after the last.
func (f *Form) part() (*multipart.Part, string, error) {
	f.head.left = formHead
	p, err := f.parts.NextPart()
	f.head.left = -1
	if err != nil {
		return nil, "", err
	}
	if f.count++; f.count > formParts {
		return nil, "", unreadf("the form has more than %d parts", formParts)
	}
	name := p.FormName()
	if name == "" {
		return nil, "", unfinished(engine.CodeInvalidValue, "", "a part of the form has no name; each needs Content-Disposition: form-data with one")
	}
	return p, name, nil
}

// twice refuses a second file.
func twice() *fault.Error {
	return unfinished(engine.CodeInvalidValue, "file", "file came twice; send one file a request")
}

// Coming reports whether the file is still being sent.
func (f *Form) Coming() bool { return f.coming != nil }

// Rest reads the fields after a file that was still being sent. A field that had to come
// before it is an error. Fields that nothing asked for are skipped.
func (f *Form) Rest() error {
	for {
		p, name, err := f.part()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if name == "file" && p.FileName() != "" {
			return twice()
		}
		if f.read[name] && !f.ignored[name] {
			return fault.New(engine.CodeInvalidValue, name, "%s came after the file, when the answer had begun; send all fields before the file", name)
		}
		if _, err := io.Copy(io.Discard, p); err != nil {
			return err
		}
	}
}

func unreadf(format string, args ...any) *fault.Error {
	return unfinished(fault.CodeTooLarge, "", format, args...)
}

// unfinished is a failure found before the body ended.
func unfinished(c fault.Code, param, format string, args ...any) *fault.Error {
	e := fault.New(c, param, format, args...)
	e.Unread = true
	return e
}

// Close frees the upload.
func (f *Form) Close() {
	if f.upload != nil {
		f.upload.Close()
	}
}

// Values returns every value of a field, under its name with and without [].
func (f *Form) Values(name string) []string {
	f.read[name], f.read[name+"[]"] = true, true
	if f.asFile[name] || f.asFile[name+"[]"] {
		f.Invalid(name, "came as a file; send it as a plain field, without a file name")
	}
	return append(slices.Clone(f.Value[name]), f.Value[name+"[]"]...)
}

// Str returns a field's last value; "" when it is absent.
func (f *Form) Str(name string) string {
	v := f.Values(name)
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

// Asks reports whether a field that is not supported asks for something: one of its values
// does not say that there is nothing.
func (f *Form) Asks(name string) bool {
	return slices.ContainsFunc(f.Values(name), func(v string) bool {
		v = strings.ToLower(strings.TrimSpace(v))
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			return x != 0
		}
		return !slices.Contains([]string{"", "false", "[]", "null", "none"}, v)
	})
}

// OneOf reads one of the values given; "" when absent.
func (f *Form) OneOf(name string, allowed ...string) string {
	s := f.Str(name)
	if s != "" && !slices.Contains(allowed, s) {
		f.Invalid(name, "must be one of %s, got %.60q", strings.Join(allowed, ", "), s)
	}
	return s
}

// Boolean reads true or false; false when absent.
func (f *Form) Boolean(name string) bool {
	switch f.OneOf(name, "true", "false", "1", "0", "True", "False") {
	case "true", "1", "True":
		return true
	}
	return false
}

// Off reports whether a boolean field that is on when absent is off.
func (f *Form) Off(name string) bool { return f.Str(name) != "" && !f.Boolean(name) }

// Number reads a number from lo to hi.
func (f *Form) Number(name string, lo, hi float64) (x float64, ok bool) {
	s := f.Str(name)
	if s == "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(lo <= x && x <= hi) {
		f.Invalid(name, "must be a number between %s and %s, got %.40q", digits(lo), digits(hi), s)
	}
	return x, true
}

// digits writes a number without an exponent.
func digits(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Refuse sets the form's failure, unless it has one.
func (f *Form) Refuse(c fault.Code, param, format string, args ...any) {
	f.p.set(fault.New(c, param, format, args...))
}

// Err returns the first error found in the form.
func (f *Form) Err() error { return f.p.first() }

// Invalid refuses a field for its value.
func (f *Form) Invalid(name, format string, args ...any) {
	f.Refuse(engine.CodeInvalidValue, name, name+" "+format, args...)
}

// Missing refuses a form without a field.
func (f *Form) Missing(name string) {
	f.Refuse(engine.CodeMissingParam, name, "%s is required", name)
}

// FileName is the client's name of the upload.
func (f *Form) FileName() string { return f.name }

// File returns the upload; nil after an error.
func (f *Form) File() io.Reader {
	if f.coming != nil {
		return f.coming
	}
	if f.upload != nil {
		return f.upload
	}
	if _, text := f.Value["file"]; text {
		f.Invalid("file", "must be sent as a file, with a file name")
	} else {
		f.Missing("file")
	}
	return nil
}
