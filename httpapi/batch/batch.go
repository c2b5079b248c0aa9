// Package batch has the types of files and batches, and no more: the
// objects as clients see them, the format of an input file's lines, and the errors.
// It depends neither on HTTP nor on where anything is kept.
package batch

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// MaxLines is how many lines an input file may have.
const MaxLines = 50_000

// Endpoints are those of a batch's lines.
var Endpoints = []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/audio/transcriptions"}

// Purposes are those of clients' uploads.
var Purposes = []string{"batch", "user_data", "assistants", "fine-tune", "vision", "evals"}

// Purposes with an effect here.
const (
	ForBatch  = "batch"
	ForOutput = "batch_output" // made by a batch
)

// Least and most of a completion window. OpenAI has 24h only.
const (
	leastWindow = time.Minute
	mostWindow  = 30 * 24 * time.Hour
)

// Within is the time that a completion window gives, a number of minutes, hours or days.
func Within(window string) (time.Duration, error) {
	if window != "" {
		unit := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[window[len(window)-1]]
		n, err := strconv.ParseUint(window[:len(window)-1], 10, 16)
		if d := time.Duration(n) * unit; err == nil && d >= leastWindow && d <= mostWindow {
			return d, nil
		}
	}
	return 0, fmt.Errorf("must be a number of minutes, hours or days from 1m to 30d, as 24h, got %.40q", window)
}

// A File is a stored file as OpenAI spells it.
type File struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // "file"
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	ExpiresAt *int64 `json:"expires_at"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status"` // "processed"
}

// A Status is how far a batch is.
type Status string

// The statuses, in the order they are reached.
const (
	Validating Status = "validating"
	InProgress Status = "in_progress"
	Finalizing Status = "finalizing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Expired    Status = "expired"
	Cancelling Status = "cancelling"
	Cancelled  Status = "cancelled"
)

// Over reports whether the status is final.
func (s Status) Over() bool {
	return s == Completed || s == Failed || s == Expired || s == Cancelled
}

// A Batch is a batch as OpenAI spells it.
type Batch struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"` // "batch"
	Endpoint         string            `json:"endpoint"`
	Model            string            `json:"model,omitempty"` // of all lines
	Errors           *Errors           `json:"errors"`
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"`
	Status           Status            `json:"status"`
	OutputFileID     *string           `json:"output_file_id"`
	ErrorFileID      *string           `json:"error_file_id"`
	CreatedAt        int64             `json:"created_at"`
	InProgressAt     *int64            `json:"in_progress_at"`
	ExpiresAt        *int64            `json:"expires_at"`
	FinalizingAt     *int64            `json:"finalizing_at"`
	CompletedAt      *int64            `json:"completed_at"`
	FailedAt         *int64            `json:"failed_at"`
	ExpiredAt        *int64            `json:"expired_at"`
	CancellingAt     *int64            `json:"cancelling_at"`
	CancelledAt      *int64            `json:"cancelled_at"`
	Counts           Counts            `json:"request_counts"`
	Metadata         map[string]string `json:"metadata"`
}

// Counts are of lines. Completed ones were answered with a status below 300.
type Counts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// Errors say why a batch failed.
type Errors struct {
	Object string      `json:"object"` // "list"
	Data   []LineError `json:"data"`
}

// A LineError is an error of a line, or of all of them.
type LineError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    *int    `json:"line"` // from 1
}

// A Request asks for a new batch.
type Request struct {
	InputFileID string
	Endpoint    string
	Window      string        // as the client spelled it
	Within      time.Duration // the same
	Metadata    map[string]string
	OutputAge   time.Duration // after which its files expire; 0 is as all files
}

// An Answer is the API's answer to one line.
type Answer struct {
	Status    int
	RequestID string
	JSON      bool // the body is JSON
	Body      []byte
	Warnings  []string      // of the header, which lines do not have
	Retry     bool          // the same may succeed later: nothing was decided
	After     time.Duration // how much later, if that is known
}

// Errors of a store.
var (
	ErrNotFound = errors.New("batch: not found") // or another key's
	ErrOver     = errors.New("batch: the batch has ended")
	ErrLines    = fmt.Errorf("batch: more than %d lines", MaxLines)
)

// A FullError: a store is full.
type FullError struct {
	Left int64 // bytes; negative where that is not known
	Disk bool  // its disk is what is full, and not the room it may take
	Err  error
}

func (e *FullError) Error() string { return fmt.Sprintf("batch: the store is full: %v", e.Err) }

// Unwrap returns the cause.
func (e *FullError) Unwrap() error { return e.Err }

// An AwayError: a store cannot be reached now.
type AwayError struct{ Err error }

func (e *AwayError) Error() string { return fmt.Sprintf("batch: the store is away: %v", e.Err) }

// Unwrap returns the cause.
func (e *AwayError) Unwrap() error { return e.Err }
