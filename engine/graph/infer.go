package graph

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// The rules a recording has to keep, each written once: the types of an op's
// inputs and result in the table below, its place in the cache in cacheOrder,
// its shapes in Out. In the default build gorgonia's inference applies them
// (exprgraph.go), in the others the list of inorder.go does.

// A kind is the type of a value: the type of its numbers and the meaning of its leading
// dimension. Values of float32 are matrices, those of int32 vectors.
type kind struct {
	of   number
	lead Lead
}

// A number is a type of numbers.
type number uint8

const (
	float32s number = iota
	int32s
)

var (
	numberNames = [...]string{float32s: "float32", int32s: "int32"}
	leadNames   = [...]string{PerRow: " per row", PerWant: " per wanted row", sameLead: " of the same rows"}
)

func (k kind) String() string { return numberNames[k.of] + leadNames[k.lead] }

var (
	perRow  = kind{float32s, PerRow}
	perWant = kind{float32s, PerWant}
	same    = kind{float32s, sameLead}
	rowIDs  = kind{int32s, PerRow}
	wantIDs = kind{int32s, PerWant}
	sameIDs = kind{int32s, sameLead}
)

// A signature is the types of an op's inputs and of its result.
type signature struct {
	op  Op // any value of the op
	in  []kind
	out kind
}

// signatures are those of all ops.
var signatures = []signature{
	{Embed{}, []kind{rowIDs}, perRow},
	{Take{}, []kind{perRow, wantIDs}, perWant},
	{RMSNorm{}, []kind{same}, same},
	{LayerNorm{}, []kind{same}, same},
	{Linear{}, []kind{same}, same},
	{AdaptedEmbed{}, []kind{rowIDs}, perRow},
	{AdaptedLinear{}, []kind{same}, same},
	{Bias{}, []kind{same}, same},
	{Add{}, []kind{same, same}, same},
	{Scale{}, []kind{same}, same},
	{SoftCap{}, []kind{same}, same},
	{Clamp{}, []kind{same}, same},
	{XIELU{}, []kind{same}, same},
	{Blend{}, []kind{same, same, same}, same},
	{MatchRMS{}, []kind{same, same}, same},
	{Sparsify{}, []kind{same}, same},
	{Times{}, []kind{same}, same},
	{Activate{}, []kind{same}, same},
	{Gate{}, []kind{same, same}, same},
	{Weigh{}, []kind{same, same}, same},
	{Rope{}, []kind{same, sameIDs}, same},
	{HeadLinear{}, []kind{same}, same},
	{HeadCut{}, []kind{same}, same},
	{HeadJoin{}, []kind{same, same}, same},
	{ShortConv{}, []kind{perRow}, perRow},
	{Mamba2{}, []kind{perRow, perRow}, perRow},
	{Mamba1{}, []kind{perRow, perRow, perRow, perRow}, perRow},
	{DeltaNet{}, []kind{perRow, perRow, perRow}, perRow},
	{TokenShift{}, []kind{perRow}, perRow},
	{WKV7{}, []kind{perRow, perRow, perRow, perRow, perRow}, perRow},
	{Temper{}, []kind{perRow, rowIDs}, perRow},
	{Attention{}, []kind{perRow, perRow, perRow}, perRow},
	{LatentAttention{}, []kind{perRow, perRow}, perRow},
	{SharedAttention{}, []kind{same}, same},
	{Experts{}, []kind{same, same}, same},
	{AdaptedExperts{}, []kind{same, same}, same},
	{Conv1D{}, []kind{perRow}, perRow},
	{DenseAttention{}, []kind{perRow, perRow, perRow}, perRow},
	{Store{}, []kind{perRow, perRow, perRow}, perRow},
	{CrossAttention{}, []kind{perRow}, perRow},
	{CrossScores{}, []kind{perRow}, perRow},
}

// Ops lists one value of every op, for tests that a backend implements them all.
func Ops() []Op {
	list := make([]Op, len(signatures))
	for i, s := range signatures {
		list[i] = s.op
	}
	return list
}

func signatureOf(op Op) (signature, bool) {
	t := reflect.TypeOf(op)
	for _, s := range signatures {
		if reflect.TypeOf(s.op) == t {
			return s, true
		}
	}
	return signature{}, false
}

// result infers the type of the result, for builds without gorgonia.
func (s signature) result(in []Value) (kind, bool) {
	if len(in) != len(s.in) {
		return kind{}, false
	}
	lead := sameLead // not known yet
	for i, v := range in {
		want := s.in[i]
		if want.lead == sameLead {
			if lead == sameLead {
				lead = v.kind.lead
			}
			want.lead = lead
		}
		if v.kind != want {
			return kind{}, false
		}
	}
	out := s.out
	if out.lead == sameLead {
		out.lead = lead
	}
	return out, true
}

// A use is the way an op uses a layer of the cache.
type use uint8

const (
	keeps   use = iota // Attention writes the batch's rows and reads the sequence
	shares             // so does a bidirectional one, but needs nothing of it after
	stores             // Store writes the batch's rows
	recalls            // CrossAttention reads what a Store has written
	rereads            // SharedAttention reads what an Attention has written
)

// An order is how two ops of one pass that use the same layer may follow.
type order uint8

const (
	never order = iota // one would overwrite the other's layer
	free               // they use different blocks, or only read
	after              // in the order recorded
)

// cacheOrder says for an op, and one recorded before it, how they may follow.
var cacheOrder = [...][rereads + 1]order{
	keeps:   {keeps: never, shares: never, stores: never, recalls: free, rereads: never},
	shares:  {keeps: never, shares: after, stores: never, recalls: free, rereads: never},
	stores:  {keeps: never, shares: never, stores: never, recalls: never, rereads: never},
	recalls: {keeps: free, shares: free, stores: after, recalls: free, rereads: free},
	rereads: {keeps: after, shares: never, stores: never, recalls: free, rereads: free},
}

// cacheUse returns the layer of the cache that op uses, and how.
func cacheUse(op Op) (layer int, how use, ok bool) {
	switch o := op.(type) {
	case Attention:
		if o.Bidirectional {
			return o.Layer, shares, true
		}
		return o.Layer, keeps, true
	case LatentAttention:
		return o.Layer, keeps, true
	case SharedAttention:
		return o.Layer, rereads, true
	case Store:
		return o.Layer, stores, true
	case CrossAttention:
		return o.Layer, recalls, true
	case CrossScores:
		return o.Layer, recalls, true
	}
	return 0, 0, false
}

// A call is an op about to be recorded.
type call struct {
	op     Op
	in     []Value
	before []recordedUse // of the same layer of the cache, in order
}

type recordedUse struct {
	op Op
	v  Value
}

// after is the op whose use of the cache has to come first, or none.
func (c call) after() []Value {
	_, how, _ := cacheUse(c.op)
	for i := len(c.before) - 1; i >= 0; i-- {
		if _, earlier, _ := cacheUse(c.before[i].op); cacheOrder[how][earlier] == after {
			return []Value{c.before[i].v}
		}
	}
	return nil
}

// shape infers the shape of the result.
func (c call) shape(in ...Shape) (Shape, error) {
	layer, how, _ := cacheUse(c.op)
	for _, u := range c.before {
		if _, earlier, _ := cacheUse(u.op); cacheOrder[how][earlier] == never {
			return nil, fmt.Errorf("out of order: %s comes before it in this pass, and both use layer %d of the cache", opName(u.op), layer)
		}
	}
	if how == rereads && len(c.after()) == 0 {
		return nil, fmt.Errorf("out of order: no attention before it in this pass has written layer %d of the cache", layer)
	}
	return c.op.Out(in...)
}

var errTypes = errors.New("types differ")

// explain adds the op and its inputs to the cause.
func (c call) explain(cause error) error {
	list := make([]string, len(c.in))
	for i, v := range c.in {
		list[i] = fmt.Sprintf("%v %v", v.kind, []int(v.shape))
	}
	s, known := signatureOf(c.op)
	if !known {
		cause = fmt.Errorf("unknown op: %w", cause)
	} else if _, ok := s.result(c.in); !ok {
		cause = fmt.Errorf("it takes %s: %w", join(s.in), cause)
	}
	return fmt.Errorf("%s of %s: %w", opName(c.op), strings.Join(list, ", "), cause)
}

func join(kinds []kind) string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = k.String()
	}
	return strings.Join(list, ", ")
}
