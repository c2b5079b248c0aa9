package realtime

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine/chat"
	"quern/httpapi/internal/body"
)

// TestSentences: pieces cover the text in order, whatever it is cut into on the way.
func TestSentences(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"two", "Hello there. How are you today, my friend?", []string{"Hello there. ", "How are you today, my friend?"}},
		{"too short to stand alone", "Yes. No. Well, that is that.", []string{"Yes. No. ", "Well, that is that."}},
		{"abbreviations and initials", "Ask Dr. Smith and J. Doe, e.g. on Monday. Then go.", []string{"Ask Dr. Smith and J. Doe, e.g. on Monday. ", "Then go."}},
		{"a list", "1. Take the flour.\n2. Add the water.\n", []string{"1. Take the flour.\n", "2. Add the water.\n"}},
		{"quotes", "“That is all!” he said at last, and left.", []string{"“That is all!” ", "he said at last, and left."}},
		{"full-width", "今日は晴れです。明日は雨です。", []string{"今日は晴れです。", "明日は雨です。"}},
		{"numbers", "It is 3.5 or so, not 4. That is known to all.", []string{"It is 3.5 or so, not 4. That is known to all."}},
		{"a long first clause", "Although nobody in the whole of the town had expected it to happen at all this year, " + "it did happen after all",
			[]string{"Although nobody in the whole of the town had expected it to happen at all this year, ", "it did happen after all"}},
		{"without an end", long, []string{long[:300], long[300:]}},
		{"without a space", strings.Repeat("é", 400), []string{strings.Repeat("é", 150), strings.Repeat("é", 150), strings.Repeat("é", 100)}},
		{"nothing", " \n ", nil},
		{"no text", strings.Repeat("\xff", 700), []string{strings.Repeat("\xff", 300), strings.Repeat("\xff", 300), strings.Repeat("\xff", 100)}},
	} {
		for _, step := range []int{1, 7, len(tt.text)} {
			var s sentences
			var got []string
			at := 0
			take := func(list []sentence) {
				for _, p := range list {
					if tt.text[p.at:p.at+len(p.text)] != p.text || p.at < at {
						t.Errorf("%s: piece %q is not at %d", tt.name, p.text, p.at)
					}
					at = p.at + len(p.text)
					got = append(got, p.text)
				}
			}
			for i := 0; i < len(tt.text); i += step {
				take(s.push(tt.text[i:min(i+step, len(tt.text))]))
			}
			take(s.end())
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s, %d bytes at a time:\n%q\nwant\n%q", tt.name, step, got, tt.want)
			}
		}
	}
}

func TestPace(t *testing.T) {
	now := time.Unix(0, 0)
	p := newPace(10, now)
	for i := range 20 {
		if d := p.next(now); d != 0 {
			t.Fatalf("event %d at once waits %v", i, d)
		}
	}
	if d := p.next(now); d != 100*time.Millisecond {
		t.Errorf("the next waits %v, want 100ms", d)
	}
	if d := p.next(now.Add(time.Second)); d != 0 {
		t.Errorf("a second later one waits %v", d)
	}
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPace(10, time.Now()), time.Now()
		for range 50 {
			if err := p.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("50 events take %v, want 3s", took)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.wait(gone); err == nil {
			t.Error("who left is waited for")
		}
	})
}

func TestTruncate(t *testing.T) {
	for ms, want := range map[int]string{0: "", 99: "", 100: "One", 250: "One two", 1000: "One two three"} {
		p := part{text: "One two three.", ms: 1000, marks: []mark{{100, 3}, {200, 7}, {300, 13}}}
		if p.truncate(ms); p.text != want || p.ms != ms {
			t.Errorf("after %d ms %q and %d ms are left, want %q", ms, p.text, p.ms, want)
		}
	}
}

func TestTimes(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond) }
	for _, tt := range []struct {
		name  string
		times times
		want  object
	}{
		{"spoken", times{at(0), at(200), at(250), at(400)}, object{"transcription_ms": 200.0, "first_token_ms": 50.0, "first_audio_ms": 150.0, "turn_ms": 400.0}},
		{"written", times{ended: at(0), token: at(50)}, object{"first_token_ms": 50.0, "turn_ms": 50.0}},
		{"heard, and nothing said", times{ended: at(0), written: at(10)}, object{"transcription_ms": 10.0}},
		{"nothing", times{ended: at(0)}, object{}},
	} {
		if got := tt.times.spell(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// FuzzEvent reads any event: nothing panics, and a configuration that is accepted keeps
// to its bounds and is spelled as JSON.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"type":"session.update","session":{"type":"realtime","output_modalities":["text"],"audio":{"input":{"turn_detection":null,"format":{"type":"audio/pcm","rate":24000},"transcription":{"model":"m","languages":["de"],"keywords":["a"]}},"output":{"voice":{"id":"v"},"speed":1.5}}}}`,
		`{"session":{"modalities":["text","audio"],"voice":"v","input_audio_format":"g711_ulaw","turn_detection":{"type":"server_vad","threshold":0.1,"silence_duration_ms":1},"temperature":0.8,"max_response_output_tokens":"inf","include":[]}}`,
		`{"session":{"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"tool_choice":{"type":"function","name":"f"},"truncation":{"type":"retention_ratio","retention_ratio":0.5}}}`,
		`{"item":{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_audio","audio":"AAAA"}]}}`,
		`{"item":{"type":"function_call","name":"f","arguments":"{}","call_id":null}}`,
		`{"item":{"type":"message","role":"assistant","content":[{"type":"text","text":"\ud800"}]},"session":null}`,
		`{"item":[],"session":{"audio":{"input":null,"output":[]},"tools":{}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := body.Parse([]byte(text))
		if err != nil {
			return
		}
		c := newConfig()
		if s := o.Object("session"); s != nil {
			c.read(s)
			c.checkChoice(s)
		}
		var it *item
		if v, ok := o.Get("item"); ok {
			it, _ = readItem(v)
		}
		if o.Err() != nil {
			return
		}
		if c.speed < 0.5 || c.speed > 2 || c.maxTokens < 0 || c.tools.Len() > chat.MaxTools || c.in == nil || c.out == nil ||
			c.turns != nil && (c.turns.Silence > maxWait || c.turns.Prefix > maxWait || c.turns.Threshold < 0 || c.turns.Threshold > 1) {
			t.Errorf("accepted: %+v", c)
		}
		spelled := []any{c.spell("s", 1, false), c.spell("s", 1, true)}
		if it != nil {
			spelled = append(spelled, it.spell(false), it.spell(true))
			for _, m := range messages("", []*item{it}) {
				if m.Role == "" {
					t.Errorf("message without a role: %+v", m)
				}
			}
		}
		for _, v := range spelled {
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("%+v: %v", v, err)
			}
		}
		list, _ := c.prompted()
		for _, x := range list {
			if !json.Valid(x.Raw) {
				t.Errorf("tool %s", x.Raw)
			}
		}
	})
}
