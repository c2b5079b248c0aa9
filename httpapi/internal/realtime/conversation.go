package realtime

import (
	"math"
	"slices"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
)

// maxConversation bounds the text of a conversation, in bytes.
const maxConversation = 4 << 20

// rootItem is the place before the first item.
const rootItem = "root"

// find returns where an item is, or why it is not.
func (s *session) find(id, param string) (int, error) {
	i := slices.IndexFunc(s.items, func(it *item) bool { return it.id == id })
	if i < 0 {
		return 0, fault.New(engine.CodeInvalidValue, param, "there is no item %.140q in the conversation", id)
	}
	return i, nil
}

// room refuses an item that the conversation has no room for.
func (s *session) room(it *item) error {
	if most := s.api.Options.Realtime.Items; len(s.items) >= most {
		return fault.New(engine.CodeInvalidValue, "item", "the conversation has %d items, the most there may be (realtime.items); delete some", most)
	}
	size := it.size()
	for _, other := range s.items {
		size += other.size()
	}
	if size > maxConversation {
		return fault.New(engine.CodeInvalidValue, "item", "the conversation would have more than %s of text; delete items", engine.MiB(maxConversation))
	}
	return nil
}

// insert adds an item at a place and tells of it.
func (s *session) insert(it *item, at int) {
	s.items = slices.Insert(s.items, at, it)
	s.emit(event{Type: "conversation.item.added", Item: it.spell(s.beta), Previous: s.before(at)})
}

// before is the id of the item before a place, or null.
func (s *session) before(at int) any {
	if at == 0 {
		return null
	}
	return s.items[at-1].id
}

// finished tells that an item will not change by itself.
func (s *session) finished(it *item) {
	if i := slices.Index(s.items, it); i >= 0 {
		s.emit(event{Type: "conversation.item.done", Item: it.spell(s.beta), Previous: s.before(i)})
	}
}

// createItem adds an item of the client's.
func (s *session) createItem(o *body.Object) error {
	var it *item
	var sound []string
	if v, ok := o.Need("item"); ok {
		it, sound = readItem(v)
	}
	after, placed := "", o.Has("previous_item_id")
	if placed {
		after = o.Str("previous_item_id")
	}
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	if s.cfg.listens {
		return fault.New(engine.CodeInvalidValue, "type", "a transcription session has no conversation; use input_audio_buffer.append")
	}
	if _, err := s.find(it.id, ""); err == nil {
		return fault.New(engine.CodeInvalidValue, "item.id", "there is an item %.140q already", it.id)
	}
	if it.kind == itemOutput && !slices.ContainsFunc(s.items, func(c *item) bool { return c.kind == itemCall && c.callID == it.callID }) {
		return fault.New(engine.CodeInvalidValue, "item.call_id", "item.call_id: there is no function_call with call_id %.140q in the conversation; create that first", it.callID)
	}
	if err := s.room(it); err != nil {
		return err
	}
	at := len(s.items)
	switch {
	case after == rootItem:
		at = 0
	case placed:
		i, err := s.find(after, "previous_item_id")
		if err != nil {
			return err
		}
		at = i + 1
	}
	if len(sound) == 0 {
		s.insert(it, at)
		s.finished(it)
		return nil
	}
	b, e := decodeSound(sound[0], s.cfg.in, "item.content.audio")
	if e != nil {
		return e
	}
	if err := s.holds(len(b)); err != nil {
		return err
	}
	heard := hearable(b, s.cfg.in)
	if len(heard) < leastTurn {
		return fault.New(engine.CodeInvalidValue, "item.content.audio", "item.content.audio has %d ms of sound, and a turn has 100 at least", milliseconds(len(heard)))
	}
	if _, err := s.detector(); err != nil {
		return err
	}
	s.insert(it, at)
	s.finished(it)
	s.transcribe(it, heard)
	return nil
}

// named reads an event that names an item and nothing else, and finds that.
func (s *session) named(o *body.Object) (i int, id string, err error) {
	id = need(o, "item_id")
	if err := s.api.Finish(s.c, o); err != nil {
		return 0, "", err
	}
	i, err = s.find(id, "item_id")
	return i, id, err
}

// retrieveItem shows an item. Its sound is not kept.
func (s *session) retrieveItem(o *body.Object) error {
	i, _, err := s.named(o)
	if err != nil {
		return err
	}
	s.emit(event{Type: "conversation.item.retrieved", Item: s.items[i].spell(s.beta)})
	return nil
}

// deleteItem takes an item out.
func (s *session) deleteItem(o *body.Object) error {
	i, id, err := s.named(o)
	if err != nil {
		return err
	}
	s.items = slices.Delete(s.items, i, i+1)
	s.emit(event{Type: "conversation.item.deleted", ItemID: id})
	return nil
}

// truncateItem forgets what of a spoken reply was not heard, so that the model does not
// take it for said.
func (s *session) truncateItem(o *body.Object) error {
	id := need(o, "item_id")
	index := int(o.Integer("content_index", 0, 0, math.MaxInt32))
	o.Need("audio_end_ms")
	ms := int(o.Integer("audio_end_ms", 0, 0, math.MaxInt32))
	if err := s.api.Finish(s.c, o); err != nil {
		return err
	}
	i, err := s.find(id, "item_id")
	if err != nil {
		return err
	}
	it := s.items[i]
	switch {
	case it.role != "assistant" || index >= len(it.parts) || it.parts[index].kind != "output_audio":
		return fault.New(engine.CodeInvalidValue, "item_id", "only sound of the assistant's can be truncated, and content %d of %.140q is none", index, id)
	case it.status == inProgress:
		return fault.New(engine.CodeInvalidValue, "item_id", "item %.140q is being spoken; send response.cancel first", id)
	case ms > it.parts[index].ms:
		return fault.New(engine.CodeInvalidValue, "audio_end_ms", "audio_end_ms is %d, and the sound has %d ms", ms, it.parts[index].ms)
	}
	it.parts[index].truncate(ms)
	s.emit(event{Type: "conversation.item.truncated", ItemID: id, Content: &index, AudioEnd: &ms})
	return nil
}
