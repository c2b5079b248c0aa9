package matmul

// A Room is the scratch of mixtures of experts. Those that run one after another, as the layers of a
// model do, share one; each part is as long as the largest of them needs.
//
// A slot is a row at one of its experts; the slots of an expert are consecutive.
type Room struct {
	chosen []int32   // (rows, used) experts of a row, likeliest first
	weight []float32 // (rows, used)
	slot   []int32   // (rows, used)
	scores []float32 // (rows, experts) by which experts are chosen
	scaled []float32 // (rows, in) of Routing.OnInput
	active []int32   // experts that have rows
	start  []int32   // (experts+1) first slot of each

	acts [3][]byte // of slots: inputs of Up, of Gate if that takes another type, of Down
	g, u []float32 // (slots, ff)
	y    []float32 // (slots, out)

	adapted adaptedRoom
}

// An adaptedRoom is the scratch of changes of mixtures.
type adaptedRoom struct {
	change []int32   // (slots) of the lists of changes, -1 for none
	runs   []Run     // slots of one change
	in     []float32 // (slots, in) inputs of gate and up
	low    []float32 // (slots, rank)
}

// grow makes a part at least n long. Its contents are not kept.
func grow[T any](part *[]T, n int) {
	if len(*part) < n {
		*part = make([]T, n)
	}
}

// reserve makes room for a mixture of n experts and rows rows, without activations and changes.
func (r *Room) reserve(o *ExpertsOptions, n, rows int) {
	slots := rows * o.Used
	grow(&r.chosen, slots)
	grow(&r.weight, slots)
	grow(&r.slot, slots)
	grow(&r.scores, rows*n)
	if o.OnInput {
		grow(&r.scaled, rows*o.Up.In)
	}
	if cap(r.active) < n {
		r.active = make([]int32, 0, n)
	}
	grow(&r.start, n+1)
	if o.Gate.Out > 0 {
		grow(&r.g, slots*o.Gate.Out)
	}
	grow(&r.u, slots*o.Up.Out)
	grow(&r.y, slots*o.Down.Out)
}
