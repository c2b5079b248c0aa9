package turn

import (
	"errors"
	"sync"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// parallelPrompts is how many prompts of one request are generated for at a time, at the most.
const parallelPrompts = 16

// A supply hands the prompts of a request to its workers. One request must not fail because
// its own prompts fill the model's queue: a prompt that finds it full goes back and its
// worker ends, down to one worker. That one waits in the queue, however full it is, once the
// model has taken a prompt of the request.
type supply struct {
	at func(prompt int) engine.GenerateRequest

	mu      sync.Mutex
	next    int // the first prompt that was not handed out yet
	prompts int
	back    []*job
	workers int
	taken   int // prompts that the model has taken
}

// A job is one prompt.
type job struct {
	prompt  int
	request *engine.GenerateRequest // nil before the first try, and once the model has taken it
	taken   bool
}

// take returns a prompt to be generated for, nil where there is none and the worker ends.
func (s *supply) take() *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.back); n > 0 {
		j := s.back[n-1]
		s.back = s.back[:n-1]
		return j
	}
	if s.next == s.prompts {
		s.workers--
		return nil
	}
	s.next++
	return &job{prompt: s.next - 1}
}

// ask returns what is asked of the model.
func (s *supply) ask(j *job) engine.GenerateRequest {
	if j.request == nil {
		j.request = new(s.at(j.prompt))
	}
	return *j.request
}

// began notes that the model has taken a prompt.
func (s *supply) began(j *job) {
	if j.taken {
		return
	}
	j.taken, j.request = true, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken++
}

// again takes back a prompt that failed with err. It reports whether err is settled with that,
// and whether the worker ends.
func (s *supply) again(j *job, err error) (settled, ends bool) {
	var f *fault.Error
	if j.taken || !errors.As(err, &f) || f.Code != engine.CodeQueueFull {
		return false, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.workers > 1:
		s.workers--
		ends = true
	case s.taken > 0 && !j.request.Follows:
		j.request.Follows = true
	default:
		return false, true
	}
	s.back = append(s.back, j)
	return true, ends
}
