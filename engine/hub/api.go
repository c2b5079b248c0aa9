package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Bounds of what a hub may say about a repository.
const (
	maxInfo     = 32 << 20
	maxSiblings = 100_000
	maxSize     = 1 << 44 // 16 TiB
)

// info is the part of the hub's answer about a revision that matters here.
type info struct {
	SHA      string    `json:"sha"`
	Siblings []sibling `json:"siblings"`
}

type sibling struct {
	Name string `json:"rfilename"`
	Size *int64 `json:"size"`
	Blob string `json:"blobId"`
	LFS  *struct {
		SHA256 string `json:"sha256"`
		OID    string `json:"oid"` // what mirrors and other calls say for sha256
		Size   int64  `json:"size"`
	} `json:"lfs"`
}

// info asks for the files of r's revision.
func (c *Client) info(ctx context.Context, r Ref) (out info, err error) {
	// A revision is one segment: its slashes are escaped.
	u := c.base.JoinPath("api", "models", r.Owner, r.Name, "revision", url.PathEscape(r.revision()))
	u.RawQuery = "blobs=true"
	err = c.retry(ctx, func() error {
		b, err := c.small(ctx, u, r)
		if err != nil {
			return err
		}
		out = info{}
		if err := json.Unmarshal(b, &out); err != nil {
			return fmt.Errorf("%w: what %s says about %s is not what a hub says", ErrFormat, c.base.Host, r.Repo())
		}
		return nil
	})
	if err != nil {
		return info{}, err
	}
	if !isCommit(out.SHA) {
		return info{}, fmt.Errorf("%w: %s gives no commit for %s", ErrFormat, c.base.Host, r.Repo())
	}
	if len(out.Siblings) > maxSiblings {
		return info{}, fmt.Errorf("%w: %s has more than %d files", ErrFormat, r.Repo(), maxSiblings)
	}
	return out, nil
}

// small gets an answer that fits in memory.
func (c *Client) small(ctx context.Context, u *url.URL, r Ref) ([]byte, error) {
	a, body, cancel, err := c.watch(ctx, http.MethodGet, u, "")
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer drain(a.Response)
	if err := passing(a); err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK {
		if a.own {
			return nil, c.refusal(a, r)
		}
		return nil, fmt.Errorf("%w: %s answers %s", ErrFormat, a.from.Host, status(a.Response))
	}
	b, err := io.ReadAll(io.LimitReader(body, maxInfo+1))
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &again{err: fmt.Errorf("%s: %w", a.from.Host, bare(err))}
	}
	if len(b) > maxInfo {
		return nil, fmt.Errorf("%w: %s says more than %d MiB about %s", ErrFormat, c.base.Host, maxInfo>>20, r.Repo())
	}
	return b, nil
}

// files returns what the hub lists and the store can hold. Names that are no
// file below the repository, or that the store keeps for itself, are dropped
// here, so that nothing further on ever sees one.
func (i *info) files() []File {
	var out []File
	seen := map[string]bool{}
	for _, s := range i.Siblings {
		// Two names that differ in case alone are one file on some systems.
		if !validPath(s.Name) || seen[strings.ToLower(s.Name)] {
			continue
		}
		seen[strings.ToLower(s.Name)] = true
		f := File{Path: s.Name, Size: -1}
		if s.Size != nil {
			f.Size = *s.Size
		}
		if s.LFS != nil {
			f.Size = s.LFS.Size
			f.SHA256 = strings.ToLower(strings.TrimPrefix(s.LFS.SHA256, "sha256:"))
			if f.SHA256 == "" {
				f.SHA256 = strings.ToLower(strings.TrimPrefix(s.LFS.OID, "sha256:"))
			}
		} else {
			f.Blob = strings.ToLower(s.Blob)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// check refuses a file without a sensible size and a hash to hold it against.
func (f File) check() error {
	switch {
	case f.Size < 0 || f.Size > maxSize:
		return fmt.Errorf("%w: no size for %s", ErrFormat, f.Path)
	case f.SHA256 != "" && len(f.SHA256) == 64 && isHex(f.SHA256):
	case f.SHA256 == "" && len(f.Blob) == 40 && isHex(f.Blob):
	default:
		return fmt.Errorf("%w: no hash for %s, so it cannot be verified", ErrFormat, f.Path)
	}
	return nil
}

// resolveURL is where the hub gives a file.
func (c *Client) resolveURL(r Ref, commit, file string) *url.URL {
	return c.base.JoinPath(append([]string{r.Owner, r.Name, "resolve", commit}, escaped(file)...)...)
}

func escaped(file string) []string {
	segs := strings.Split(file, "/")
	for i, s := range segs {
		segs[i] = url.PathEscape(s)
	}
	return segs
}

// describe fills in what the listing left out, from the headers of the file
// itself: mirrors do not all know ?blobs=true.
func (c *Client) describe(ctx context.Context, r Ref, commit string, f File) (File, error) {
	if f.check() == nil {
		return f, nil
	}
	err := c.retry(ctx, func() error {
		a, _, cancel, err := c.watch(ctx, http.MethodHead, c.resolveURL(r, commit, f.Path), "")
		if err != nil {
			return err
		}
		defer cancel()
		defer a.Body.Close()
		if err := passing(a); err != nil {
			return err
		}
		// Storage hosts need not know HEAD; the hub has said what matters.
		if a.StatusCode != http.StatusOK && (a.own || a.linked.size < 0) {
			if a.own {
				return c.refusal(a, r)
			}
			return fmt.Errorf("%w: %s answers %s", ErrFormat, a.from.Host, status(a.Response))
		}
		if f.Size = a.linked.size; f.Size < 0 {
			f.Size = a.ContentLength
		}
		switch f.SHA256, f.Blob = "", ""; len(a.linked.etag) {
		case 64:
			f.SHA256 = a.linked.etag
		case 40:
			f.Blob = a.linked.etag
		}
		return nil
	})
	if err != nil {
		return f, err
	}
	return f, f.check()
}
