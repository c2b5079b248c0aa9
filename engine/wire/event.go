package wire

// A Kind is the type of an Event.
type Kind uint8

const (
	Reasoning Kind = iota // more thinking
	Content               // more of the answer
	CallStart             // a call begins: its name, its id and its index
	CallDelta             // more of a call's arguments, JSON
	CallEnd               // the call is whole, and its arguments are an object
)

// An Event is a piece of a reply. Deltas never take anything back, and never
// hold half a character or a part of a marker.
//
// A call without a CallEnd was cut off or went wrong: a collected
// reply leaves it out, a stream has sent what was there.
type Event struct {
	Kind Kind
	Text string // of Reasoning, Content and CallDelta
	Call int    // index of the call, from 0
	Name string // of CallStart
	ID   string // of CallStart
}

// A Call is a whole call.
type Call struct {
	ID, Name, Arguments string
}

// A Reply is a whole answer.
type Reply struct {
	Reasoning, Content string
	Calls              []Call
}

// Collect puts events together. Calls that did not end are left out.
func Collect(events []Event) Reply {
	var r Reply
	var open Call
	for _, e := range events {
		switch e.Kind {
		case Reasoning:
			r.Reasoning += e.Text
		case Content:
			r.Content += e.Text
		case CallStart:
			open = Call{ID: e.ID, Name: e.Name}
		case CallDelta:
			open.Arguments += e.Text
		case CallEnd:
			r.Calls = append(r.Calls, open)
		}
	}
	return r
}
