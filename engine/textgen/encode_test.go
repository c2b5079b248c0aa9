package textgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/token"
)

// allocated returns the bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A prompt that cannot fit is refused by its length, and one that might is
// counted no farther than it helps.
func TestLongPrompts(t *testing.T) {
	m := modelOf(t, 256)
	long := strings.Repeat("word ", 1<<20)
	for name, p := range map[string]engine.Prompt{
		"input":    {Messages: []chat.Message{{Role: chat.RoleUser, Text: long}}, Param: "input"},
		"text":     {Text: long},
		"one word": {Text: strings.Repeat("a", len(long))},
		"spaces":   {Text: strings.Repeat(" ", len(long))},
		"chat":     {Messages: []chat.Message{{Role: chat.RoleUser, Text: long}}},
	} {
		var err error
		took := allocated(func() { _, _, _, err = m.prompt(t.Context(), &p) })
		var refused *engine.Error
		if !errors.As(err, &refused) || refused.Code != engine.CodeContextLength || !strings.Contains(refused.Message, "at least ") || !strings.Contains(refused.Message, " 256;") {
			t.Errorf("%s: %v", name, err)
		}
		if want := map[string]string{"chat": "messages", "input": "input"}[name]; refused.Param != cmp.Or(want, "prompt") {
			t.Errorf("%s: the error names %q", name, refused.Param)
		}
		// A chat is rendered, which copies it a few times.
		if most := uint64(8 * len(long)); took > most || p.Messages == nil && took > 1<<20 {
			t.Errorf("%s of %d bytes takes %d", name, len(long), took)
		}
	}
	// A little too long is counted.
	text := strings.Repeat("word ", 300)
	n := len(m.Vocab.Encode(m.bos(), text, true))
	if _, _, _, err := m.prompt(t.Context(), &engine.Prompt{Text: text}); n <= 256 || err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("the prompt is %d tokens;", n)) {
		t.Errorf("%v; want %d tokens in it", err, n)
	}
}

// What fits exactly is not refused.
func TestPromptFits(t *testing.T) {
	m := modelOf(t, 256)
	for n := 1; n < 400; n++ {
		p := &engine.Prompt{Text: strings.Repeat("a ", n)}
		whole := m.Vocab.Encode(m.bos(), p.Text, true)
		ids, _, _, err := m.prompt(t.Context(), p)
		if fits := len(whole) < 256; fits != (err == nil) || fits && len(ids) != len(whole) {
			t.Fatalf("%d tokens: %d tokens and %v", len(whole), len(ids), err)
		}
	}
}

// Encoding and spelling end with their context, and leave no share behind.
func TestEncodingStops(t *testing.T) {
	m := modelOf(t, 256)
	long := strings.Repeat("word ", 1<<17)
	ids := make([]token.ID, 1<<17)
	for name, work := range map[string]func(ctx context.Context) error{
		"text": func(ctx context.Context) error {
			_, err := m.Tokenize(ctx, engine.TokenizeRequest{Prompt: engine.Prompt{Text: long}})
			return err
		},
		"one word": func(ctx context.Context) error {
			_, err := m.Tokenize(ctx, engine.TokenizeRequest{Prompt: engine.Prompt{Text: strings.Repeat("a", len(long))}})
			return err
		},
		"chat": func(ctx context.Context) error {
			_, err := m.Tokenize(ctx, engine.TokenizeRequest{Prompt: engine.Prompt{Messages: []chat.Message{{Role: chat.RoleUser, Text: long}}}})
			return err
		},
		"many messages": func(ctx context.Context) error {
			p := engine.Prompt{Messages: talk(5000, func(int) int { return 10 })}
			_, err := m.Tokenize(ctx, engine.TokenizeRequest{Prompt: p})
			return err
		},
		"tokens": func(ctx context.Context) error {
			text, err := m.Detokenize(ctx, ids)
			if err != nil {
				return err
			}
			for range text {
			}
			return ctx.Err()
		},
	} {
		whole := &counted{Context: t.Context()}
		if err := work(whole); err != nil || whole.asked < 20 {
			t.Errorf("%s: asked %d times, %v", name, whole.asked, err)
		}
		for _, last := range []int{whole.asked / 4, whole.asked / 2, whole.asked - 2} {
			ctx := &counted{Context: t.Context(), last: last}
			if err := work(ctx); !errors.Is(err, context.Canceled) || ctx.asked > last+8 {
				t.Errorf("%s: ended at question %d of %d: %v, after %d more", name, last, whole.asked, err, ctx.asked-last)
			}
		}
	}
	if n := m.Texts.Used(); n != 0 {
		t.Errorf("%d bytes of the text in work are lost", n)
	}
}

// A token of one digit may stand for many bytes.
func TestDetokenizeIsBounded(t *testing.T) {
	m := modelOf(t, 256)
	longest := token.ID(0)
	for id := range token.ID(m.Vocab.Size()) {
		if len(m.Vocab.Bytes(id)) > len(m.Vocab.Bytes(longest)) {
			longest = id
		}
	}
	ids := make([]token.ID, maxSpelled/len(m.Vocab.Bytes(longest))+1)
	for i := range ids {
		ids[i] = longest
	}
	var refused *engine.Error
	var err error
	took := allocated(func() { _, err = m.Detokenize(t.Context(), ids) })
	if !errors.As(err, &refused) || refused.Code != engine.CodeInvalidValue || refused.Param != "tokens" || took > 1<<20 {
		t.Errorf("%v, %d bytes allocated", err, took)
	}
}
