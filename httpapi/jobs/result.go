package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// A mark is the first byte of a result: the line of the output file follows, or, of a
// large one, its size and the name of the contents that are that line.
type mark byte

const (
	answered      mark = 'o'
	refused       mark = 'e'
	answeredLarge mark = 'O'
	refusedLarge  mark = 'E'
)

func (m mark) failed() bool { return m == refused || m == refusedLarge }
func (m mark) large() bool  { return m == answeredLarge || m == refusedLarge }

// resultPrefix begins the names of contents that are large results.
const resultPrefix = "result."

func resultKey(id string, n int) string { return fmt.Sprintf("%s.%d", id, n) }

// resultID is the id that clients see of a line's result.
func resultID(id string, n int) string { return fmt.Sprintf("batch_req_%s_%d", id[len("batch_"):], n) }

// createResult stores the output line of a line. It reports whether it has: another
// worker may have stored one before.
func (s *store) createResult(ctx context.Context, key string, failed bool, line []byte) (bool, error) {
	m := answered
	if failed {
		m = refused
	}
	value := append([]byte{byte(m)}, line...)
	name := ""
	if len(line) > largeResult {
		m -= 'o' - 'O'
		name = resultPrefix + key + "." + random()
		if err := until(ctx, func(context.Context) error {
			_, err := s.contents.Put(ctx, name, bytes.NewReader(line))
			return err
		}); err != nil {
			return false, err
		}
		value = fmt.Appendf([]byte{byte(m)}, "%d %s", len(line), name)
	}
	err := until(ctx, func(ctx context.Context) error {
		_, err := s.results.Create(ctx, key, value)
		return err
	})
	first := err == nil
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = nil
	}
	if !first && name != "" {
		// The stored one may be ours, if its acknowledgement was lost.
		if e, gerr := s.results.Get(ctx, key); gerr == nil && !bytes.Equal(e.Value(), value) {
			err = errors.Join(err, s.contents.Delete(ctx, name, int64(len(line))))
		}
	}
	return first, err
}

// hasResult reports whether a line has a result.
func (s *store) hasResult(ctx context.Context, key string) (bool, error) {
	err := call(ctx, func(ctx context.Context) error { _, err := s.results.Get(ctx, key); return err })
	if errors.Is(err, batch.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// copyResult writes a result's line.
func (s *store) copyResult(ctx context.Context, to io.Writer, key string) error {
	var value []byte
	// The copy that answers may be behind; a counted result will be there.
	for try := 0; ; try++ {
		err := within(ctx, 3*callTime, func(ctx context.Context) error {
			e, err := s.results.Get(ctx, key)
			if err == nil {
				value = e.Value()
			}
			return err
		})
		if err == nil {
			break
		}
		if !errors.Is(err, batch.ErrNotFound) || try == 20 || !sleep(ctx, pause) {
			return fmt.Errorf("result %s: %v", key, err)
		}
	}
	if !mark(value[0]).large() {
		_, err := to.Write(value[1:])
		return err
	}
	size, name, err := large(value)
	if err != nil {
		return err
	}
	r, err := s.contents.Open(ctx, name, size)
	if err != nil {
		return fmt.Errorf("result %s: %v", key, err)
	}
	defer r.Close()
	_, err = io.Copy(to, r)
	return err
}

func large(value []byte) (size int64, name string, err error) {
	_, err = fmt.Sscanf(string(value[1:]), "%d %s", &size, &name)
	return size, name, err
}

// dropLarge removes the contents of a large result.
func (s *store) dropLarge(ctx context.Context, key string) error {
	e, err := s.results.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	size, name, err := large(e.Value())
	if err != nil {
		return err
	}
	return s.contents.Delete(ctx, name, size)
}
