package disk

import "context"

// Put keeps a few bytes under a key that is no block's. It does not wait.
func (s *Store) Put(k Key, data []byte) {
	m := s.Model(int64(len(data)), 0, func() {})
	m.Save(k, 0, s.Use(), func(room []byte) error { copy(room, data); return nil })
}

// Get returns the n bytes that Put kept, nil where they are not there. It waits for the disk
// while that answers, and ctx lasts.
func (s *Store) Get(ctx context.Context, k Key, n int) []byte {
	notified := make(chan struct{}, 1)
	m := s.Model(int64(n), 0, func() {
		select {
		case notified <- struct{}{}:
		default:
		}
	})
	f := m.Seek([]Key{k}, s.Use())
	if f == nil || !f.Want(0) {
		return nil
	}
	defer f.Close()
	for {
		b, over := f.Next()
		if b != nil {
			return b.Data
		}
		if over {
			return nil
		}
		select {
		case <-notified:
		case <-ctx.Done():
			return nil
		}
	}
}
