package responses

import (
	"context"
	"encoding/json"
	"slices"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// A keeper keeps responses, each for the owner that made it: a store does in memory, an
// archive for longer than this process lives.
type keeper interface {
	// add keeps a response, which is under way or over. It fails when there is no room.
	add(ctx context.Context, e *entry, working bool) error
	// grow counts n bytes more of the events of one under way. It fails when there is no room.
	grow(e *entry, n int) error
	// update and finish replace a response under way; finish ends it.
	update(ctx context.Context, e *entry, o object)
	finish(ctx context.Context, e *entry, o object)
	// get returns a response as it stands.
	get(ctx context.Context, owner, id string) (*entry, object, error)
	remove(ctx context.Context, e *entry) error
	// chain returns a response and those it goes on from, oldest first, and whether that is
	// all of them; goOn: a request continues it.
	chain(ctx context.Context, owner, id string, goOn bool) (out []*entry, whole bool, err error)
	item(ctx context.Context, owner, id string) (raw json.RawMessage, ok bool, err error)
}

// walk returns a response and those it goes on from, oldest first, and whether that is all of
// them. find returns nil where there is none.
func walk(id string, find func(id string) (*entry, error)) (out []*entry, whole bool, err error) {
	for {
		e, err := find(id)
		if err != nil {
			return nil, false, err
		}
		if e == nil {
			break
		}
		out = append(out, e)
		if e.object.Previous == nil {
			whole = true
			break
		}
		id = *e.object.Previous
	}
	slices.Reverse(out)
	return out, whole, nil
}

// conversationOf returns the items of the conversation that a request goes on with.
func conversationOf(ctx context.Context, k keeper, owner, id string) (items []kept, err error) {
	gone := func(format string, args ...any) error {
		return fault.New(fault.CodePreviousNotFound, "previous_response_id", format+"; send the whole input instead", args...)
	}
	chain, whole, err := k.chain(ctx, owner, id, true)
	switch {
	case err != nil:
		return nil, err
	case len(chain) == 0:
		return nil, gone("there is no response %.140q; it may have been deleted, was not stored, or was dropped as old", id)
	case !whole:
		return nil, gone("response %.140q goes on from others that were deleted or dropped as old", id)
	case !chain[len(chain)-1].over():
		return nil, fault.New(engine.CodeInvalidValue, "previous_response_id", "response %.140q is not over; wait for it", id)
	}
	for _, e := range chain {
		items = append(items, e.input...)
		items = append(items, e.object.Output...)
	}
	return items, nil
}

// inputsOf returns the items a response was made from, oldest first: of those it goes on from
// as far as they are still there.
func inputsOf(ctx context.Context, k keeper, owner, id string) ([]kept, error) {
	chain, _, err := k.chain(ctx, owner, id, false)
	var out []kept
	for i, e := range chain {
		out = append(out, e.input...)
		if i < len(chain)-1 {
			out = append(out, e.object.Output...)
		}
	}
	return out, err
}
