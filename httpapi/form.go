package httpapi

import (
	"io"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"

	"quern/httpapi/spool"
)

// What a form may hold beside its file.
const (
	formParts  = 1000
	formValues = 1 << 20 // bytes of names and values
)

// A form is a multipart body being read field by field. As with an object, the
// first problem is kept and a handler asks once.
type form struct {
	Value  map[string][]string
	upload *spool.Spool // nil when there is none
	p      problem
	read   map[string]bool
}

// fill reads all parts: the first file called "file" into a Spool of temp, values
// into memory. Other files are skipped.
func (f *form) fill(r *multipart.Reader, temp *spool.Pool) error {
	left := int64(formValues)
	for parts := 0; ; parts++ {
		p, err := r.NextPart()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case parts == formParts:
			return unreadf("the form has more than %d parts", formParts)
		}
		name := p.FormName()
		switch {
		case name == "":
		case p.FileName() == "":
			b, err := io.ReadAll(io.LimitReader(p, left+1))
			if err != nil {
				return err
			}
			if left -= int64(len(name) + len(b)); left < 0 {
				return unreadf("the fields beside the file are larger than %d bytes", formValues)
			}
			f.Value[name] = append(f.Value[name], string(b))
		case name == "file" && f.upload == nil:
			f.upload = temp.New()
			if _, err := io.Copy(f.upload, p); err != nil {
				return err
			}
			if _, err := f.upload.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
	}
}

func unreadf(format string, args ...any) *apiError {
	e := fail(codeTooLarge, "", format, args...)
	e.unread = true
	return e
}

// close frees the upload.
func (f *form) close() {
	if f.upload != nil {
		f.upload.Close()
	}
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
// file returns the upload; nil after an error.
func (f *form) file() io.Reader {
	if f.upload != nil {
		return f.upload
	}
	if _, text := f.Value["file"]; text {
		f.invalid("file", "must be sent as a file, with a file name")
	} else {
		f.missing("file")
	}
	return nil
}
