package sample

import "quern/engine/token"

// penalties counts the tokens that penalties look at.
type penalties struct {
	repeat    float32 // 1 is off
	frequency float32
	presence  float32

	last  int        // length of the window of repeat; negative means no end
	ring  []token.ID // the window, once full overwritten from next on; unused when last < 0
	next  int
	at    map[token.ID]int32 // place in tally
	tally []tally            // tokens with a count above 0, in no particular order
}

type tally struct {
	id        token.ID
	recent    int32 // times in the window of repeat
	generated int32 // times in the generated text
}

func newPenalties(p *Params, prompt []token.ID) penalties {
	s := penalties{repeat: p.RepeatPenalty, frequency: p.FrequencyPenalty, presence: p.PresencePenalty, last: p.RepeatLastN}
	if s.repeat == 0 {
		s.repeat = 1
	}
	if s.last == 0 {
		s.last = 64
	}
	if s.off() {
		return s
	}
	s.at = make(map[token.ID]int32)
	if s.repeat != 1 {
		if s.last >= 0 && len(prompt) > s.last {
			prompt = prompt[len(prompt)-s.last:]
		}
		for _, id := range prompt {
			s.see(id)
		}
	}
	return s
}

func (s *penalties) off() bool { return s.repeat == 1 && s.frequency == 0 && s.presence == 0 }

// apply lowers the logits of tokens that were seen.
func (s *penalties) apply(logits []float32) {
	for _, t := range s.tally {
		if uint(t.id) >= uint(len(logits)) {
			continue
		}
		l := logits[t.id]
		if t.recent > 0 {
			if l > 0 {
				l /= s.repeat
			} else {
				l *= s.repeat
			}
		}
		if t.generated > 0 {
			l -= float32(t.generated)*s.frequency + s.presence
		}
		logits[t.id] = l
	}
}

// accept counts a generated token.
func (s *penalties) accept(id token.ID) {
	if s.off() {
		return
	}
	if s.repeat != 1 {
		s.see(id)
	}
	if s.frequency != 0 || s.presence != 0 {
		s.of(id).generated++
	}
}

// see moves the window of repeat on by one token.
func (s *penalties) see(id token.ID) {
	s.of(id).recent++
	if s.last < 0 {
		return
	}
	if len(s.ring) < s.last {
		s.ring = append(s.ring, id)
		return
	}
	old := s.ring[s.next]
	s.ring[s.next] = id
	if s.next++; s.next == s.last {
		s.next = 0
	}
	t := s.of(old)
	t.recent--
	if t.recent == 0 && t.generated == 0 {
		s.drop(old)
	}
}

func (s *penalties) of(id token.ID) *tally {
	i, ok := s.at[id]
	if !ok {
		i = int32(len(s.tally))
		s.tally = append(s.tally, tally{id: id})
		s.at[id] = i
	}
	return &s.tally[i]
}

func (s *penalties) drop(id token.ID) {
	i, end := s.at[id], len(s.tally)-1
	s.tally[i] = s.tally[end]
	s.at[s.tally[i].id] = i
	s.tally = s.tally[:end]
	delete(s.at, id)
}
