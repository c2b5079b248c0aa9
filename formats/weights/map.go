package weights

import "errors"

// A Mapping is a file's bytes, mapped read-only where the system can and read
// into memory where it cannot. Writing to them faults.
//
// A mapped file must keep its length: where another process cuts it short,
// reading past the new end raises SIGBUS, which no Go code can recover from.
// Replace model files by renaming a new one into place, never by writing over
// the old.
type Mapping struct {
	data  []byte
	unmap func([]byte) error
}

// Bytes returns the whole file. The slice is invalid after Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Close unmaps the file. A second Close does nothing.
func (m *Mapping) Close() error {
	data := m.data
	m.data = nil
	if len(data) == 0 || m.unmap == nil {
		return nil
	}
	return m.unmap(data)
}

const maxInt = int64(^uint(0) >> 1)

var errNotRegular = errors.New("not a regular file")
