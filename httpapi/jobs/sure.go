package jobs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A sure bucket of a cluster asks its leader if a copy lacks a key. Any copy may answer, and
// one may be behind: a record whose writing was acknowledged to a client must never be missing.
type sure struct {
	jetstream.KeyValue
	nc *nats.Conn
}

// behind is how long to wait after a copy lacked a key.
const behind = 20 * time.Millisecond

// Get implements jetstream.KeyValue.
func (b sure) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	for {
		e, err := b.KeyValue.Get(ctx, key)
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return e, err
		}
		m, lerr := last(ctx, b.nc, "KV_"+b.Bucket(), "$KV."+b.Bucket()+"."+key)
		if lerr != nil {
			return nil, lerr
		}
		if m == nil || m.Header.Get("KV-Operation") != "" || m.Header.Get(jetstream.MarkerReasonHeader) != "" {
			return nil, err // or it was removed
		}
		if !sleep(ctx, behind) {
			return nil, ctx.Err()
		}
	}
}

// getBytes is sure.Get, of an object.
func (o *objects) getBytes(ctx context.Context, name string) ([]byte, error) {
	for {
		b, err := o.store.GetBytes(ctx, name)
		if !errors.Is(err, jetstream.ErrObjectNotFound) {
			return b, err
		}
		m, lerr := last(ctx, o.nc, "OBJ_"+bucketObjects, "$O."+bucketObjects+".M."+base64.URLEncoding.EncodeToString([]byte(name)))
		if lerr != nil {
			return nil, lerr
		}
		var info jetstream.ObjectInfo
		if m == nil || json.Unmarshal(m.Data, &info) != nil || info.Deleted {
			return nil, err
		}
		if !sleep(ctx, behind) {
			return nil, ctx.Err()
		}
	}
}

// last asks the leader of a stream for the last message of a subject, nil where there is none.
func last(ctx context.Context, nc *nats.Conn, stream, subject string) (*nats.Msg, error) {
	ask, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return nil, err
	}
	m, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, ask)
	if err != nil {
		return nil, err
	}
	var said struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Header []byte `json:"hdrs"`
			Data   []byte `json:"data"`
		} `json:"message"`
	}
	switch err := json.Unmarshal(m.Data, &said); {
	case err != nil:
		return nil, err
	case said.Error != nil && said.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case said.Error != nil:
		return nil, said.Error
	case said.Message == nil:
		return nil, jetstream.ErrInvalidJetStreamResponse
	}
	out := &nats.Msg{Data: said.Message.Data}
	if len(said.Message.Header) > 0 {
		out.Header, err = nats.DecodeHeadersMsg(said.Message.Header)
	}
	return out, err
}
