package batch

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// A Line is one request of an input file.
type Line struct {
	N        int // its number, from 1
	CustomID string
	Endpoint string
	Model    string
	Body     json.RawMessage // an object
}

const (
	maxCustomID = 512 // bytes
	maxErrors   = 100 // that are reported of one file
)

// Codes of a LineError.
const (
	codeJSON      = "invalid_json_line"
	codeMissing   = "missing_required_parameter"
	codeInvalid   = "invalid_request"
	codeURL       = "invalid_url"
	codeMethod    = "invalid_method"
	codeDuplicate = "duplicate_custom_id"
	codeModel     = "mismatched_model"
	codeLong      = "line_too_long"
	codeEmpty     = "empty_file"
	codeLines     = "too_many_lines"
)

func wrong(n int, code, param, format string, args ...any) *LineError {
	e := &LineError{Code: code, Message: fmt.Sprintf(format, args...), Line: &n}
	if param != "" {
		e.Param = &param
	}
	return e
}

// ParseLine reads line n of an input file.
func ParseLine(n int, raw []byte) (Line, *LineError) {
	var in struct {
		CustomID *string         `json:"custom_id"`
		Method   *string         `json:"method"`
		URL      *string         `json:"url"`
		Body     json.RawMessage `json:"body"`
	}
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return Line{}, wrong(n, codeJSON, "", "this line is not JSON")
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Line{}, wrong(n, codeInvalid, "", "this line must be an object with the strings custom_id, method and url and the object body")
	}
	for _, f := range []struct {
		name string
		text *string
	}{{"custom_id", in.CustomID}, {"method", in.Method}, {"url", in.URL}} {
		if f.text == nil || *f.text == "" {
			return Line{}, wrong(n, codeMissing, f.name, "%s is required", f.name)
		}
	}
	if len(*in.CustomID) > maxCustomID {
		return Line{}, wrong(n, codeInvalid, "custom_id", "custom_id has %d bytes, at most %d are allowed", len(*in.CustomID), maxCustomID)
	}
	if *in.Method != "POST" {
		return Line{}, wrong(n, codeMethod, "method", "method must be POST, got %.20q", *in.Method)
	}
	var body struct {
		Model      *string         `json:"model"`
		Stream     json.RawMessage `json:"stream"`
		Background json.RawMessage `json:"background"`
		File       json.RawMessage `json:"file"`
	}
	if len(in.Body) == 0 || in.Body[0] != '{' {
		return Line{}, wrong(n, codeMissing, "body", "body is required, and an object")
	}
	if err := json.Unmarshal(in.Body, &body); err != nil {
		return Line{}, wrong(n, codeInvalid, "model", "model must be a string")
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"stream", body.Stream}, {"background", body.Background}} {
		if string(f.raw) == "true" {
			return Line{}, wrong(n, codeInvalid, f.name, "%s is not possible in a batch; leave it out", f.name)
		}
	}
	l := Line{N: n, CustomID: *in.CustomID, Endpoint: *in.URL, Body: in.Body}
	if body.Model != nil {
		l.Model = *body.Model
	}
	if l.Endpoint == transcriptions && (len(body.File) < 3 || body.File[0] != '"') {
		return Line{}, wrong(n, codeMissing, "file", "file is required, and the id of an uploaded file")
	}
	return l, nil
}

const transcriptions = "/v1/audio/transcriptions"

// A Check is the result of checking an input file.
type Check struct {
	Lines  int
	Model  string // of all of them
	Errors []LineError
}

// CheckLines reads an input file of a batch for an endpoint, whose lines have at most
// longest bytes. It fails only where r does.
func CheckLines(r io.Reader, endpoint string, longest int) (*Check, error) {
	c := &Check{}
	ids := map[[16]byte]int{}
	note := func(e *LineError) {
		if len(c.Errors) < maxErrors {
			c.Errors = append(c.Errors, *e)
		}
	}
	err := EachLine(r, longest, func(n int, raw []byte) error {
		c.Lines++
		if raw == nil {
			note(wrong(n, codeLong, "", "this line has more than %d bytes, the limit of a request (limits.json_body)", longest))
			return nil
		}
		l, e := ParseLine(n, raw)
		if e != nil {
			note(e)
			return nil
		}
		if l.Endpoint != endpoint {
			note(wrong(n, codeURL, "url", "url is %.100q and the batch is for %s", l.Endpoint, endpoint))
		}
		sum := sha256.Sum256([]byte(l.CustomID))
		id := [16]byte(sum[:16])
		if first, ok := ids[id]; ok {
			note(wrong(n, codeDuplicate, "custom_id", "custom_id %.100q is that of line %d", l.CustomID, first))
		} else {
			ids[id] = n
		}
		if len(ids) == 1 && ids[id] == n {
			c.Model = l.Model
		} else if l.Model != c.Model {
			note(wrong(n, codeModel, "model", "the model is %.100q, and that of the first line %.100q; all lines of a batch have the same", l.Model, c.Model))
		}
		return nil
	})
	if err == ErrLines {
		c.Errors = slices.Insert(c.Errors, 0, LineError{Code: codeLines, Message: fmt.Sprintf("the file has more than %d lines; send several batches", MaxLines)})
		err = nil
	}
	if c.Lines == 0 && err == nil {
		c.Errors = []LineError{{Code: codeEmpty, Message: "the file has no lines"}}
	}
	return c, err
}

// EachLine calls f with every line of r that is not blank, and with nil for those of more
// than longest bytes. raw is valid until f returns. It ends with f's error, r's, or
// ErrLines.
func EachLine(r io.Reader, longest int, f func(n int, raw []byte) error) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	lines := 0
	for n := 1; ; n++ {
		line = line[:0]
		over, last := false, false
		for more := true; more; {
			part, err := b.ReadSlice('\n')
			switch {
			case err == nil:
				more = false
			case err == io.EOF:
				more, last = false, true
			case err != bufio.ErrBufferFull:
				return err
			}
			if over = over || len(line)+len(part) > longest+1; !over {
				line = append(line, part...)
			}
		}
		raw := bytes.TrimSpace(line)
		if n == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
		}
		if over || len(raw) > 0 {
			if lines++; lines > MaxLines {
				return ErrLines
			}
			if over {
				raw = nil
			}
			if err := f(n, raw); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
}

// A LineCounter is a reader of a file that fails with ErrLines when it has too many lines.
type LineCounter struct {
	R     io.Reader
	lines int
}

func (c *LineCounter) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	if c.lines += bytes.Count(p[:n], []byte("\n")); c.lines > MaxLines {
		return 0, ErrLines
	}
	return n, err
}
