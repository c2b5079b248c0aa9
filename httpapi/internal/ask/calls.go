package ask

// Calls are the ids of the calls that a conversation has so far, for who reads it in its
// order.
type Calls struct {
	ids     map[string]bool
	unnamed bool // one has no id
}

// Made notes a call.
func (c *Calls) Made(id string) {
	if id == "" {
		c.unnamed = true
		return
	}
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	c.ids[id] = true
}

// Has reports whether one of them has an id.
func (c *Calls) Has(id string) bool { return c.ids[id] }

// MayHave reports whether a result for an id can be of one of them. It can be of none while there
// is none: clients leave out the oldest turns of long conversations, and a call without its result.
func (c *Calls) MayHave(id string) bool { return c.ids == nil || c.unnamed || c.ids[id] }
