package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// Responses are kept in a bucket of their own, below the shelf of their owner:
//
//	SHELF.r.ID.head      how many parts the record has, and their name; the first part
//	SHELF.r.ID.NAME.N    the other parts
//	SHELF.r.ID.word      a message to the server that makes it
//	SHELF.i.HASH         the id of the response that an item is of
//
// A head is written when the other parts are there, so a record is whole or that of before.

// responseKey is where the record of a response lies; plain(id) holds.
func responseKey(owner, id string) string { return shelf(owner) + ".r." + id }

// itemKey is where the response of an item is named. Clients choose ids of items freely.
func itemKey(owner, item string) string {
	sum := sha256.Sum256([]byte(item))
	return shelf(owner) + ".i." + hex.EncodeToString(sum[:16])
}

// leaseOf is the lease of a response that is being made.
func leaseOf(id string) string { return "response_" + id }

// archive is the store, to look up the response id in.
func (j *Jobs) archive(ctx context.Context, id string) (*store, error) {
	if !plain(id) {
		return nil, batch.ErrNotFound
	}
	return j.look(ctx)
}

// KeepResponse stores a response in place of its earlier record. It is found by its id and
// those of its items.
func (j *Jobs) KeepResponse(ctx context.Context, owner, id string, items []string, record []byte) error {
	s, err := j.store(ctx)
	if err != nil {
		return err
	}
	put := func(key string, value []byte) error {
		return within(ctx, 3*callTime, func(ctx context.Context) error {
			_, err := s.responses.Put(ctx, key, value)
			return err
		})
	}
	base, name := responseKey(owner, id), random()
	var parts [][]byte
	for len(record) > largeResult {
		parts, record = append(parts, record[:largeResult]), record[largeResult:]
	}
	parts = append(parts, record)
	before, _ := s.responses.Get(ctx, base+".head")
	for n, part := range parts[1:] {
		if err := put(fmt.Sprintf("%s.%s.%d", base, name, n+1), part); err != nil {
			return errors.Join(err, s.forget(ctx, base+"."+name+".*"))
		}
	}
	for _, item := range items {
		if err := put(itemKey(owner, item), []byte(id)); err != nil {
			return err
		}
	}
	if err := put(base+".head", append(fmt.Appendf(nil, "%d %s\n", len(parts), name), parts[0]...)); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	if n, old, _, err := readHead(before.Value()); err == nil && n > 1 {
		return s.forget(ctx, base+"."+old+".*")
	}
	return nil
}

// readHead parses the head of a record.
func readHead(value []byte) (parts int, name string, first []byte, err error) {
	head, first, ok := bytes.Cut(value, []byte{'\n'})
	if _, err := fmt.Sscanf(string(head), "%d %s", &parts, &name); err != nil || !ok {
		return 0, "", nil, fmt.Errorf("jobs: the record of a response begins with %.40q", value)
	}
	return parts, name, first, nil
}

// Response returns the record of a response.
func (j *Jobs) Response(ctx context.Context, owner, id string) (record []byte, err error) {
	s, err := j.archive(ctx, id)
	if err != nil {
		return nil, err
	}
	base := responseKey(owner, id)
	err = call(ctx, func(ctx context.Context) error {
		e, err := s.responses.Get(ctx, base+".head")
		if err != nil {
			return err
		}
		parts, name, first, err := readHead(e.Value())
		record = bytes.Clone(first)
		for n := 1; n < parts && err == nil; n++ {
			if e, err = s.responses.Get(ctx, fmt.Sprintf("%s.%s.%d", base, name, n)); err == nil {
				record = append(record, e.Value()...)
			}
		}
		return err
	})
	return record, err
}

// ResponseOf returns the id of the response that an item is of.
func (j *Jobs) ResponseOf(ctx context.Context, owner, item string) (id string, err error) {
	s, err := j.look(ctx)
	if err != nil {
		return "", err
	}
	err = call(ctx, func(ctx context.Context) error {
		e, err := s.responses.Get(ctx, itemKey(owner, item))
		if err == nil {
			id = string(e.Value())
		}
		return err
	})
	return id, err
}

// DropResponse forgets a response and its items.
func (j *Jobs) DropResponse(ctx context.Context, owner, id string, items []string) error {
	s, err := j.archive(ctx, id)
	if err != nil {
		return err
	}
	base := responseKey(owner, id)
	err = errors.Join(s.forget(ctx, base+".head"), s.forget(ctx, base+".*.*")) // the process that makes it reads ID.word, which stays
	for _, item := range items {
		err = errors.Join(err, s.forget(ctx, itemKey(owner, item)))
	}
	return err
}

// forget removes the keys that match, without a trace.
func (s *store) forget(ctx context.Context, keys string) error {
	return call(ctx, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, "KV_"+bucketResponses)
		if err != nil {
			return err
		}
		return stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucketResponses+"."+keys))
	})
}

// HoldResponse records that this process makes a response, until release is called or the
// process ends. heard is called with the words of TellResponse meanwhile.
func (j *Jobs) HoldResponse(ctx context.Context, owner, id string, heard func(word string)) (release func(), err error) {
	s, err := j.store(ctx)
	if err != nil {
		return nil, err
	}
	l := &lease{s: s, id: leaseOf(id)}
	if err := call(ctx, l.take); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	words, err := s.responses.Watch(ctx, responseKey(owner, id)+".word", jetstream.IgnoreDeletes())
	if err != nil {
		stop()
		return nil, failure(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-words.Updates():
				if !ok {
					return
				}
				if e != nil {
					heard(string(e.Value()))
				}
			}
		}
	}()
	renewed := make(chan struct{})
	go func() { defer close(renewed); l.renew(ctx) }()
	return func() {
		stop()
		<-done
		<-renewed
		_ = words.Stop() // its context is over
		after := context.WithoutCancel(ctx)
		if err := errors.Join(call(after, l.drop), s.forget(after, responseKey(owner, id)+".word")); err != nil {
			j.log.Debug("lease runs out by itself", "response", id, "err", err)
		}
	}, nil
}

// ResponseHeld reports whether a process makes a response.
func (j *Jobs) ResponseHeld(ctx context.Context, id string) (held bool, err error) {
	s, err := j.archive(ctx, id)
	if err != nil {
		return false, err
	}
	err = call(ctx, func(ctx context.Context) error { _, err := s.leases.Get(ctx, leaseOf(id)); return err })
	if errors.Is(err, batch.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// TellResponse sends a word to the process that makes a response.
func (j *Jobs) TellResponse(ctx context.Context, owner, id, word string) error {
	s, err := j.archive(ctx, id)
	if err != nil {
		return err
	}
	return call(ctx, func(ctx context.Context) error {
		_, err := s.responses.PutString(ctx, responseKey(owner, id)+".word", word)
		return err
	})
}

// openResponses opens the bucket of responses. Unlike that of other buckets its oldest records
// go when it is full, so it is made as the stream it is.
func (s *store) openResponses(ctx context.Context, o *Options) error {
	_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "KV_" + bucketResponses, Subjects: []string{"$KV." + bucketResponses + ".>"},
		Description: "responses of quern", MaxBytes: o.ResponseBytes, MaxAge: max(o.ResponseAge, 0), Discard: jetstream.DiscardOld,
		MaxMsgsPerSubject: 1, AllowRollup: true, DenyDelete: true, AllowDirect: true, Replicas: o.Replicas,
	})
	if err != nil {
		return err
	}
	b, err := s.js.KeyValue(ctx, bucketResponses)
	s.responses = roomy{b, s.room}
	return err
}
