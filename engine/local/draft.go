package local

import (
	"quern/engine"
	"quern/engine/draft"
	"quern/engine/sched"
)

// drafters are those that sequences of m get, by what its options say. Where the bits of a row
// may depend on its batch there are none, since replies would change with them: that is
// promised of models that are recorded, on CPUs.
func (m *textModel) drafters(p *opening, o *engine.ModelOptions) []sched.Drafter {
	if p.device != "cpu" || m.LM == nil || o.Speculation == engine.SpeculationOff {
		return nil
	}
	return []sched.Drafter{draft.NewLookup(o.Slots, m.Context)}
}

// spares are how many of so many snapshots of states drafts take: those of a quarter of the
// sequences.
func spares(snapshots int) int { return (snapshots + 3) / 4 }
