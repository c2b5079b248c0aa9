package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// contents are bytes by name, whole or missing.
type contents interface {
	// Put stores all of r, which may be long, and returns how many bytes that were. When it
	// fails nothing is stored.
	Put(ctx context.Context, name string, r io.Reader) (int64, error)
	// Open opens contents of size bytes.
	Open(ctx context.Context, name string, size int64) (io.ReadSeekCloser, error)
	Delete(ctx context.Context, name string, size int64) error
}

// objects are contents in the object store of a cluster: parts of partSize bytes, each an
// object. A part is sent when the one before it is stored, since a server refuses what
// comes faster than it writes, and it is sent again when the cluster was away. To read
// from an offset, read the part it is in.
type objects struct {
	store jetstream.ObjectStore
	nc    *nats.Conn
	max   int64
}

const partSize = 4 << 20

func openObjects(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, o *Options) (contents, error) {
	s, err := js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucketObjects,
		Description: "contents of files, and large results", Replicas: o.Replicas, MaxBytes: o.MaxBytes, TTL: max(o.TTL, 0)})
	return &objects{s, nc, o.MaxBytes}, err
}

func partName(name string, part int64) string { return fmt.Sprintf("%s.%d", name, part) }

func (o *objects) Put(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	buf := make([]byte, partSize)
	for part := int64(0); ; part++ {
		n, rerr := io.ReadFull(r, buf)
		if rerr != nil && rerr != io.EOF && rerr != io.ErrUnexpectedEOF {
			err = rerr
		} else if n > 0 {
			err = within(ctx, 3*callTime, func(ctx context.Context) error {
				_, err := o.store.Put(ctx, jetstream.ObjectMeta{Name: partName(name, part)}, bytes.NewReader(buf[:n]))
				return err
			})
		}
		if err != nil {
			o.Delete(context.WithoutCancel(ctx), name, part*partSize)
			return 0, o.left(ctx, err)
		}
		size += int64(n)
		if rerr != nil {
			return size, nil
		}
	}
}

// left adds the bytes that are left to an error that the store is full.
func (o *objects) left(ctx context.Context, err error) error {
	var full *batch.FullError
	if !errors.As(err, &full) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if st, serr := o.store.Status(ctx); serr == nil {
		full.Left = max(0, o.max-int64(st.Size()))
	}
	return full
}

func (o *objects) Delete(ctx context.Context, name string, size int64) error {
	for part := int64(0); part*partSize < size; part++ {
		err := within(ctx, callTime, func(ctx context.Context) error { return o.store.Delete(ctx, partName(name, part)) })
		if err != nil && !errors.Is(err, batch.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (o *objects) Open(ctx context.Context, name string, size int64) (io.ReadSeekCloser, error) {
	r := &objectReader{o: o, ctx: ctx, name: name, size: size}
	return r, r.fill() // a missing object is an error of Open, not of the first Read
}

// An objectReader holds one part. Its context is that of Open: it is read by one request.
type objectReader struct {
	o        *objects
	ctx      context.Context
	name     string
	size, at int64
	part     int64 // of buf
	buf      []byte
}

// fill gets the part that at is in.
func (r *objectReader) fill() error {
	part := r.at / partSize
	if r.at >= r.size || r.buf != nil && r.part == part {
		return nil
	}
	r.buf, r.part = nil, part
	return within(r.ctx, 3*callTime, func(ctx context.Context) (err error) {
		r.buf, err = r.o.getBytes(ctx, partName(r.name, part))
		return err
	})
}

func (r *objectReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	off := r.at - r.part*partSize
	if off >= int64(len(r.buf)) {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, r.buf[off:])
	r.at += int64(n)
	return n, nil
}

func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("jobs: seek before the start")
	}
	r.at = offset
	return offset, nil
}

func (r *objectReader) Close() error { return nil }
