package textgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/lm"
)

// A counted context counts how often it is asked, and ends when it was asked
// last times (0: never).
type counted struct {
	context.Context
	asked, last int
}

func (c *counted) Err() error {
	if c.asked++; c.last > 0 && c.asked >= c.last {
		return context.Canceled
	}
	return nil
}

// modelOf returns the built-in model, which reads prompts.
func modelOf(t *testing.T, context int) *Model {
	t.Helper()
	set, err := lm.Open(lm.BuiltinPath)
	if err != nil {
		t.Fatal(err)
	}
	f := &lm.File{ID: "m", Raw: set}
	if err := f.Open(t.Context(), engine.ModelOptions{ContextLength: context}, 1); err != nil {
		t.Fatal(err)
	}
	if err := f.OpenVocab(f.Config); err != nil {
		t.Fatal(err)
	}
	m, err := New(t.Context(), f.Reader(lm.TextBudget()), Templates{Own: set.Meta.String("tokenizer.chat_template")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// talk is a conversation of n turns whose texts have the lengths size says.
func talk(n int, size func(i int) int) []chat.Message {
	const words = "the quick brown fox jumps over the lazy dog, 漢字も; "
	list := []chat.Message{{Role: chat.RoleSystem, Text: "Be brief."}}
	say := func(role string, i int) {
		n := size(i)
		text := strings.ToValidUTF8(strings.Repeat(words, n/len(words)+1)[:n], "")
		list = append(list, chat.Message{Role: role, Text: fmt.Sprint(i, " ", text)})
	}
	for i := range n {
		say(chat.RoleUser, i)
		say(chat.RoleAssistant, i)
		if i == 1 || i == 3 {
			list = append(list, chat.Message{Role: chat.RoleSystem, Text: "Note."})
		}
	}
	list = append(list, chat.Message{Role: chat.RoleUser, Text: "And now?"})
	return list
}

const dated = `{{ strftime_now('%Y') }}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content.split('</think>')[-1] }}<|im_end|>
{% endfor %}`

// The fewest turns are dropped with which the rest fits, in few renderings.
func TestShorten(t *testing.T) {
	m := modelOf(t, 256)
	rng := rand.New(rand.NewPCG(1, 2))
	most := 0
	defer func() { t.Logf("at most %d renderings", most) }()
	for name, size := range map[string]func(i int) int{
		"even":     func(int) int { return 40 },
		"empty":    func(int) int { return 0 },
		"growing":  func(i int) int { return i },
		"falling":  func(i int) int { return max(0, 150-i) },
		"giants":   func(i int) int { return 10 + 20000*(max(0, i%17-15)) },
		"random":   func(int) int { return rng.IntN(1 + rng.IntN(400)) },
		"last one": func(i int) int { return max(0, 100*(i-118)) },
	} {
		for _, turnCount := range []int{0, 1, 2, 5, 40, 120} {
			for _, template := range []string{"", dated} {
				renders := 0
				m.templateOptions.Now = func() time.Time { renders++; return time.Unix(0, 0) }
				if _, err := chat.New(cmp.Or(template, " "), m.templateOptions); err == nil {
					renders = -renders // those that try the template out
				}
				p := &engine.Prompt{Messages: talk(turnCount, size), Template: template, AutoShorten: true}
				if template != "" { // thinking that the template leaves out
					for i := range p.Messages {
						if i%3 == 0 {
							p.Messages[i].Text = strings.Repeat("thinking ", 50) + "</think>" + p.Messages[i].Text
						}
					}
				}
				ids, dropped, _, err := m.chatPrompt(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				count := renders
				want, wantDropped := shortenOneByOne(t, m, p)
				if !slices.Equal(ids, want) || dropped != wantDropped {
					t.Errorf("%s, %d turns: %d tokens with %d messages dropped, want %d with %d", name, turnCount, len(ids), dropped, len(want), wantDropped)
				}
				if most = max(most, count); count > 14 {
					t.Errorf("%s, %d turns: %d renderings", name, turnCount, count)
				}
			}
		}
	}
}

// shortenOneByOne drops turn after turn until the rest fits.
func shortenOneByOne(t *testing.T, m *Model, p *engine.Prompt) (ids []int32, dropped int) {
	t.Helper()
	c, err := m.converse(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for list := p.Messages; ; {
		ids, n, _, err := c.tokens(t.Context(), list, m.room())
		if err != nil {
			t.Fatal(err)
		}
		if n.Tokens <= m.room() {
			return ids, len(p.Messages) - len(list)
		}
		first := slices.IndexFunc(list, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
		next := first + 1 + slices.IndexFunc(list[first+1:], func(m chat.Message) bool { return m.Role == chat.RoleUser })
		shorter := slices.Clone(list[:first])
		for _, m := range list[first:next] {
			if m.Role == chat.RoleSystem {
				shorter = append(shorter, m)
			}
		}
		list = append(shorter, list[next:]...)
	}
}

// What shortening costs grows with the context, not with the conversation.
func TestShortenWork(t *testing.T) {
	m := modelOf(t, 512)
	work := func(turns int) (asked int, bytes uint64) {
		p := &engine.Prompt{Messages: talk(turns, func(int) int { return 60 }), AutoShorten: true}
		ctx := &counted{Context: t.Context()}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, dropped, _, err := m.chatPrompt(ctx, p)
		runtime.ReadMemStats(&after)
		if err != nil || dropped == 0 {
			t.Fatalf("%d turns: %d dropped, %v", turns, dropped, err)
		}
		return ctx.asked, after.TotalAlloc - before.TotalAlloc
	}
	// System messages stay, so there are none.
	few, fewBytes := work(400)
	many, manyBytes := work(10000)
	if many > 3*few || manyBytes > 40*fewBytes {
		t.Errorf("10,000 turns ask %d times and allocate %d bytes, 400 turns %d and %d", many, manyBytes, few, fewBytes)
	}
}

// Shortening ends with its context, wherever it is.
func TestShortenStops(t *testing.T) {
	m := modelOf(t, 512)
	p := &engine.Prompt{Messages: talk(200, func(int) int { return 60 }), AutoShorten: true}
	whole := &counted{Context: t.Context()}
	if _, _, _, err := m.chatPrompt(whole, p); err != nil {
		t.Fatal(err)
	}
	for _, last := range []int{1, 2, whole.asked / 3, whole.asked / 2, whole.asked - 1} {
		ctx := &counted{Context: t.Context(), last: last}
		if _, _, _, err := m.chatPrompt(ctx, p); !errors.Is(err, context.Canceled) || ctx.asked > last+8 {
			t.Errorf("ended at question %d of %d: %v, after %d more", last, whole.asked, err, ctx.asked-last)
		}
		if n := m.Texts.Used(); n != 0 {
			t.Fatalf("%d bytes of the text in work are lost", n)
		}
	}
}

// What cannot be shortened enough is refused with how long it still is.
func TestShortenRefuses(t *testing.T) {
	m := modelOf(t, 128)
	p := &engine.Prompt{Messages: append(talk(3, func(int) int { return 10 }), chat.Message{Role: chat.RoleUser, Text: strings.Repeat("word ", 200)}), AutoShorten: true}
	_, _, _, err := m.chatPrompt(t.Context(), p)
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != engine.CodeContextLength || e.Param != "messages" || !strings.Contains(e.Message, "the context of this model is 128") {
		t.Errorf("%v", err)
	}
}
