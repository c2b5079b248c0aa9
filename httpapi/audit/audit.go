// Package audit writes a log of the client, endpoint and model, a line of JSON for each request, and
// no text of requests or replies.
package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// An Entry is one request that was answered, or refused.
type Entry struct {
	Time    time.Time `json:"time"`              // when it came, UTC
	Request string    `json:"request"`           // its id, as in the log and x-request-id
	Who     string    `json:"who"`               // name of the key, or of the client's certificate; "" for neither
	Address string    `json:"address,omitempty"` // of the client, or of the proxy before it
	Method  string    `json:"method"`
	Path    string    `json:"path"`            // pattern of the endpoint, "unmatched" for none
	Model   string    `json:"model,omitempty"` // that answered
	Prompt  int       `json:"prompt_tokens"`   // read
	Output  int       `json:"output_tokens"`   // made
	Status  int       `json:"status"`          // 499 is a client that left
	Code    string    `json:"code,omitempty"`  // of a failure
	Millis  int64     `json:"took_ms"`
	Trace   string    `json:"trace,omitempty"`
}

// A Log is a file that lines are put at the end of.
type Log struct {
	name string

	mu   sync.Mutex
	file io.WriteCloser
	torn bool // the file ends inside a line
}

// Open opens a file, which is made where it is not there. Only its owner may read it.
func Open(name string) (*Log, error) {
	l := &Log{name: name}
	return l, l.Reopen()
}

// Reopen opens the file of that name, after a log rotator has renamed the one before.
// Where that fails the one before stays open.
func (l *Log) Reopen() error {
	f, err := os.OpenFile(l.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.torn = f, torn(l.name)
	return nil
}

// torn reports whether a file ends inside a line, as a full disk or a power failure leaves it.
func torn(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], st.Size()-1)
	return err == nil && last[0] != '\n'
}

// Write puts a line at the end. Each line is one write, so lines of several processes do not mix.
// Behind a line that could be written in part only, the next is on a line of its own.
func (l *Log) Write(e Entry) error {
	e.Time = e.Time.UTC()
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b = append(b, '\n')
	if l.torn {
		b = slices.Insert(b, 0, '\n')
	}
	n, err := l.file.Write(b)
	if n > 0 {
		l.torn = b[n-1] != '\n'
	}
	return err
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
