package sched

// Requests in the background have a lane of their own, behind all others: they are admitted
// when nobody else waits, and leave when somebody does who finds no slot or no blocks. What
// they have drawn stays, as with every sequence that is preempted, so their replies are the
// same. They do not count against the queue.
//
// Within a step they take little: none of their rows run while another prompt is evaluated,
// since that is what its reader waits for, and otherwise their prompts have an eighth of the
// rows, so that a request that arrives waits for a short step.
const backgroundShare = 8

// foreground is how many of list, which is in order, are not in the background.
func foreground(list []*sequence) int {
	n := len(list)
	for n > 0 && list[n-1].Background {
		n--
	}
	return n
}

// yield sends the newest sequence in the background back to wait, for q. It says whether
// there was one.
func (s *Scheduler) yield(q *sequence) bool {
	n := len(s.running)
	if q.Background || n == 0 || !s.running[n-1].Background {
		return false
	}
	s.preempt(s.running[n-1])
	return true
}

// holdBack limits the loads of sequences in the background.
func (s *Scheduler) holdBack() {
	at := foreground(s.running)
	behind := s.loads[at:]
	if len(behind) == 0 {
		return
	}
	pause := false
	for i := range s.loads[:at] {
		l := &s.loads[i]
		pause = pause || !l.full && !l.first()
	}
	most := max(1, s.o.Budget/backgroundShare/len(behind))
	for i := range behind {
		l := &behind[i]
		l.full = l.full || pause
		if l.cut == 0 || l.cut > most {
			l.cut = most
		}
	}
}

// uncount takes q off the count of those that wait for their first slot.
func (s *Scheduler) uncount(q *sequence) {
	if !q.seen && !q.Background {
		s.fresh--
	}
}
