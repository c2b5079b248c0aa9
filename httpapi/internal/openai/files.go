package openai

import (
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"quern/engine"
	"quern/httpapi/batch"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// Least and most seconds after which clients may have files expire.
const (
	leastExpiry = 3600
	mostExpiry  = 30 * 24 * 3600
)

// createFile answers POST /v1/files.
func (a api) createFile(c *server.Call, jobs server.Jobs) error {
	f, err := a.ReadForm(c)
	if err != nil {
		return err
	}
	defer f.Close()
	content := f.File()
	file := batch.File{Filename: f.FileName(), CreatedAt: time.Now().Unix(), Purpose: f.OneOf("purpose", batch.Purposes...)}
	if file.Purpose == "" {
		f.Missing("purpose")
	}
	if len(file.Filename) > 512 {
		f.Invalid("file", "must have a name of at most 512 bytes")
	}
	anchor := f.OneOf("expires_after[anchor]", "created_at")
	if s, ok := f.Number("expires_after[seconds]", leastExpiry, mostExpiry); ok {
		if anchor == "" {
			f.Missing("expires_after[anchor]")
		}
		file.ExpiresAt = new(file.CreatedAt + int64(math.Trunc(s)))
	} else if anchor != "" {
		f.Missing("expires_after[seconds]")
	}
	if err := a.Finish(c, f); err != nil {
		return err
	}
	file, err = jobs.PutFile(c.R.Context(), c.OwnerID(), file, content)
	if err != nil {
		return server.FromJobs(err)
	}
	return a.WriteJSON(c, 200, file)
}

// listFiles answers GET /v1/files.
func (a api) listFiles(c *server.Call, jobs server.Jobs) error {
	q := body.Query{Values: c.R.URL.Query()}
	most := q.Number("limit", 10_000, 1, 10_000)
	order := q.OneOf("order", "desc", "asc")
	if q.Err != nil {
		return q.Err
	}
	files, err := jobs.Files(c.R.Context(), c.OwnerID())
	if err != nil {
		return server.FromJobs(err)
	}
	if purpose := q.Values.Get("purpose"); purpose != "" {
		files = slices.DeleteFunc(files, func(f batch.File) bool { return f.Purpose != purpose })
	}
	return writePage(a, c, files, func(f batch.File) string { return f.ID }, q.Values.Get("after"), order, most)
}

// A listPage is some things of a list.
type listPage[T any] struct {
	Object string  `json:"object"`
	Data   []T     `json:"data"`
	First  *string `json:"first_id"`
	Last   *string `json:"last_id"`
	More   bool    `json:"has_more"`
}

// writePage answers with at most so many things of all, which come oldest first, from
// behind the one whose id is after.
func writePage[T any](a api, c *server.Call, all []T, id func(T) string, after, order string, most int) error {
	if order == "desc" {
		slices.Reverse(all)
	}
	if after != "" {
		i := slices.IndexFunc(all, func(x T) bool { return id(x) == after })
		if i < 0 {
			return fault.New(engine.CodeInvalidValue, "after", "after must be the id of something in the list, got %.140q", after)
		}
		all = all[i+1:]
	}
	p := listPage[T]{Object: "list", Data: []T{}, More: len(all) > most}
	if all = all[:min(most, len(all))]; len(all) > 0 {
		first, last := id(all[0]), id(all[len(all)-1])
		p.Data, p.First, p.Last = all, &first, &last
	}
	return a.WriteJSON(c, 200, p)
}

// missing says why something cannot be done with a file or a batch.
func missing(err error, kind, id string) error {
	if err == batch.ErrNotFound {
		return fault.New(fault.CodeNotFound, "", "there is no %s %.140q; it may have expired, or be another key's", kind, id)
	}
	return server.FromJobs(err)
}

// getFile answers GET /v1/files/{id}.
func (a api) getFile(c *server.Call, jobs server.Jobs) error {
	id := c.Params.ByName("id")
	f, err := jobs.File(c.R.Context(), c.OwnerID(), id)
	if err != nil {
		return missing(err, "file", id)
	}
	return a.WriteJSON(c, 200, f)
}

// removeFile answers DELETE /v1/files/{id}.
func (a api) removeFile(c *server.Call, jobs server.Jobs) error {
	id := c.Params.ByName("id")
	if err := jobs.DeleteFile(c.R.Context(), c.OwnerID(), id); err != nil {
		return missing(err, "file", id)
	}
	return a.WriteJSON(c, 200, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{id, "file", true})
}

// fileContent answers GET /v1/files/{id}/content.
func (a api) fileContent(c *server.Call, jobs server.Jobs) error {
	id := c.Params.ByName("id")
	f, content, err := jobs.OpenFile(c.R.Context(), c.OwnerID(), id)
	if err != nil {
		return missing(err, "file", id)
	}
	defer content.Close()
	mime := "application/octet-stream"
	if strings.HasSuffix(f.Filename, ".jsonl") {
		mime = "application/jsonl"
	}
	c.W.Header().Set("X-Content-Type-Options", "nosniff")
	return a.WriteSized(c, mime, f.Bytes, func(w io.Writer) error {
		_, err := io.CopyN(w, content, f.Bytes)
		return err
	})
}
