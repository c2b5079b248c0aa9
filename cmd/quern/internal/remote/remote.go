// Package remote is a client of the files and batches of a server, which may be in this
// process.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quern/httpapi/batch"
)

// A Client asks one server.
type Client struct {
	Base string // of the server, as http://127.0.0.1:8080
	Key  string // "" sends none
	HTTP *http.Client
}

// Address is the Base of s: with http where it has no scheme, and without OpenAI's /v1
// at its end.
func Address(s string) (base string, err error) {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is no address such as http://127.0.0.1:8080", s)
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, "/"), "/v1"), nil
}

// An Error is an error of the server's answer.
type Error struct {
	Status  int
	Message string
}

func (e *Error) Error() string { return e.Message }

// call sends a request and decodes the answer into out; a writer gets it as it is.
func (c *Client) call(ctx context.Context, method, path, kind string, body io.Reader, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, body)
	if err != nil {
		return err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if c.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := c.HTTP.Do(r)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the method and the address
		}
		return fmt.Errorf("the server at %s: %w", c.Base, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return failure(resp)
	}
	if w, ok := out.(io.Writer); ok {
		_, err := io.Copy(w, resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

func failure(resp *http.Response) error {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if json.Unmarshal(b, &e) != nil || e.Error.Message == "" {
		e.Error.Message = fmt.Sprintf("the server answers %s", resp.Status)
	}
	return &Error{resp.StatusCode, e.Error.Message}
}

// Models are the names of models of a type.
func (c *Client) Models(ctx context.Context, kind string) (names []string, err error) {
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			AliasOf string `json:"alias_of"`
		} `json:"data"`
	}
	err = c.call(ctx, "GET", "/v1/models", "", nil, &list)
	for _, m := range list.Data {
		if m.Type == kind && m.AliasOf == "" {
			names = append(names, m.ID)
		}
	}
	return names, err
}

// Upload stores a file at the server.
func (c *Client) Upload(ctx context.Context, name, purpose string, content io.Reader) (f batch.File, err error) {
	r, w := io.Pipe()
	defer r.Close()
	form := multipart.NewWriter(w)
	go func() {
		err := form.WriteField("purpose", purpose)
		if err == nil {
			var part io.Writer
			if part, err = form.CreateFormFile("file", name); err == nil {
				_, err = io.Copy(part, content)
			}
		}
		w.CloseWithError(errors.Join(err, form.Close()))
	}()
	err = c.call(ctx, "POST", "/v1/files", form.FormDataContentType(), r, &f)
	return f, err
}

// Delete removes a file.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.call(ctx, "DELETE", "/v1/files/"+url.PathEscape(id), "", nil, io.Discard)
}

// Content writes the content of a file.
func (c *Client) Content(ctx context.Context, id string, w io.Writer) error {
	return c.call(ctx, "GET", "/v1/files/"+url.PathEscape(id)+"/content", "", nil, w)
}

// Start begins a batch.
func (c *Client) Start(ctx context.Context, file, endpoint, window string) (b batch.Batch, err error) {
	body, err := json.Marshal(map[string]string{"input_file_id": file, "endpoint": endpoint, "completion_window": window})
	if err != nil {
		return b, err
	}
	err = c.call(ctx, "POST", "/v1/batches", "application/json", bytes.NewReader(body), &b)
	return b, err
}

// Batch describes one.
func (c *Client) Batch(ctx context.Context, id string) (b batch.Batch, err error) {
	err = c.call(ctx, "GET", "/v1/batches/"+url.PathEscape(id), "", nil, &b)
	return b, err
}

// Cancel asks a batch to end; one that is over stays as it is.
func (c *Client) Cancel(ctx context.Context, id string) error {
	err := c.call(ctx, "POST", "/v1/batches/"+url.PathEscape(id)+"/cancel", "", nil, io.Discard)
	if said := (*Error)(nil); errors.As(err, &said) && said.Status == http.StatusConflict {
		return nil
	}
	return err
}

const (
	soon     = 20 * time.Millisecond  // a batch is asked about, first; each time after twice as long
	every    = 500 * time.Millisecond // and this at most
	patience = 5 * time.Minute        // with a server that cannot be reached
)

// Follow calls tell with how far a batch is until it is over. It retries while the server is away,
// for patience.
func (c *Client) Follow(ctx context.Context, id string, tell func(batch.Batch)) (batch.Batch, error) {
	away, pause := time.Time{}, soon
	for {
		b, err := c.Batch(ctx, id)
		var said *Error
		switch {
		case err == nil:
			away = time.Time{}
			tell(b)
			if b.Status.Over() {
				return b, nil
			}
		case ctx.Err() != nil, errors.As(err, &said) && said.Status < 500:
			return b, err
		case away.IsZero():
			away = time.Now()
		case time.Since(away) > patience:
			return b, err
		}
		select {
		case <-ctx.Done():
			return b, ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, every)
		}
	}
}
