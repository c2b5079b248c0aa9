package openai

import (
	"errors"
	"time"

	"quern/engine"
	"quern/httpapi/batch"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// createBatch answers POST /v1/batches.
func (a api) createBatch(c *server.Call, jobs server.Jobs) error {
	return a.Object(func(c *server.Call, o *body.Object) error { return a.startBatch(c, o, jobs) })(c)
}

func (a api) startBatch(c *server.Call, o *body.Object, jobs server.Jobs) error {
	r := batch.Request{Metadata: body.Labels(o)}
	if v, ok := o.Need("input_file_id"); ok {
		r.InputFileID = v.Str()
	}
	if v, ok := o.Need("endpoint"); ok {
		r.Endpoint = v.OneOf(batch.Endpoints...)
	}
	if v, ok := o.Need("completion_window"); ok {
		r.Window = v.Str()
		var err error
		if r.Within, err = batch.Within(r.Window); err != nil {
			v.Invalid("%v", err)
		}
	}
	if x := o.Object("output_expires_after"); x != nil {
		x.OneOf("anchor", "created_at")
		r.OutputAge = time.Duration(x.Integer("seconds", 0, leastExpiry, mostExpiry)) * time.Second
	}
	if err := a.Finish(c, o); err != nil {
		return err
	}
	f, err := jobs.File(c.R.Context(), c.OwnerID(), r.InputFileID)
	switch {
	case errors.Is(err, batch.ErrNotFound):
		return fault.New(fault.CodeNotFound, "input_file_id", "there is no file %.140q; it may have expired, or be another key's", r.InputFileID)
	case err != nil:
		return server.FromJobs(err)
	case f.Purpose != batch.ForBatch:
		return fault.New(engine.CodeInvalidValue, "input_file_id", "the file was uploaded for %q; upload it with the purpose %q", f.Purpose, batch.ForBatch)
	}
	b, err := jobs.Start(c.R.Context(), c.OwnerID(), r)
	if err != nil {
		return missing(err, "file", r.InputFileID)
	}
	return a.WriteJSON(c, 200, b)
}

// listBatches answers GET /v1/batches.
func (a api) listBatches(c *server.Call, jobs server.Jobs) error {
	q := body.Query{Values: c.R.URL.Query()}
	most := q.Number("limit", 20, 1, 100)
	if q.Err != nil {
		return q.Err
	}
	list, err := jobs.Batches(c.R.Context(), c.OwnerID())
	if err != nil {
		return server.FromJobs(err)
	}
	return writePage(a, c, list, func(b batch.Batch) string { return b.ID }, q.Values.Get("after"), "desc", most)
}

// getBatch answers GET /v1/batches/{id}.
func (a api) getBatch(c *server.Call, jobs server.Jobs) error {
	id := c.Params.ByName("id")
	b, err := jobs.Batch(c.R.Context(), c.OwnerID(), id)
	if err != nil {
		return missing(err, "batch", id)
	}
	return a.WriteJSON(c, 200, b)
}

// cancelBatch answers POST /v1/batches/{id}/cancel.
func (a api) cancelBatch(c *server.Call, jobs server.Jobs) error {
	id := c.Params.ByName("id")
	b, err := jobs.Cancel(c.R.Context(), c.OwnerID(), id)
	if errors.Is(err, batch.ErrOver) {
		return fault.New(fault.CodeOver, "", "the batch is %s and cannot be cancelled", b.Status)
	} else if err != nil {
		return missing(err, "batch", id)
	}
	return a.WriteJSON(c, 200, b)
}
