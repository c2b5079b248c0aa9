package local

import (
	"slices"
	"testing"

	"quern/engine"
	"quern/engine/token"
)

// TestForced: a greedy reply whose forced tokens cost no steps is the one that is drawn token
// by token, as with log-probabilities, wherever that one is split as its text is.
func TestForced(t *testing.T) {
	e := open(t, engine.Options{})
	long := `{"type":"object","properties":{"name_of_the_customer":{"enum":["Ann","Bob"]},"telephone_number":{"type":"string","pattern":"^[0-9]{5}$"},
		"postal_address_of_the_customer":{"type":"object","properties":{"street":{"type":"string","maxLength":20}},"required":["street"],"additionalProperties":false}},
		"required":["name_of_the_customer","telephone_number","postal_address_of_the_customer"],"additionalProperties":false}`
	forms := []*engine.Constraint{
		{Form: engine.FormChoice, Choices: []string{"the answer is yes", "the answer is no"}},
		{Form: engine.FormRegex, Source: "(red|blue) and (red|blue), or green with the other"},
	}
	for _, src := range append(slices.Clone(bounded), long) {
		forms = append(forms, schemaOf(src))
	}
	ask := func(c *engine.Constraint, question string, edit func(*engine.GenerateRequest)) result {
		t.Helper()
		r := engine.GenerateRequest{Prompt: user(question), MaxTokens: 200, Constraint: c}
		edit(&r)
		res, err := gather(t.Context(), e, "", r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	stats := func() engine.ModelStats {
		return e.Stats().Models[0]
	}
	same, forced := 0, int64(0)
	for _, c := range forms {
		for _, question := range []string{"Describe a place.", "Hello", "What is the colour of the sea?", "1 2 3"} {
			drawn := ask(c, question, func(r *engine.GenerateRequest) { r.Sample.Logprobs = true })
			var ids []token.ID
			for _, ev := range drawn.events {
				for _, l := range ev.Logprobs {
					ids = append(ids, l.ID)
				}
			}
			split, err := e.Tokenize(t.Context(), "", engine.TokenizeRequest{Prompt: engine.Prompt{Text: drawn.text[0]}})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ids, split.Tokens) {
				continue
			}
			before := stats()
			got := ask(c, question, func(*engine.GenerateRequest) {})
			after := stats()
			if got.text[0] != drawn.text[0] || got.reason[0] != drawn.reason[0] || got.done.OutputTokens != len(ids) {
				t.Errorf("%q: got %q, %d tokens, %s; want %q, %d, %s", question, got.text[0], got.done.OutputTokens, got.reason[0], drawn.text[0], len(ids), drawn.reason[0])
			}
			n := after.ForcedTokens - before.ForcedTokens
			if steps := after.Steps - before.Steps; n > 0 && steps > int64(len(ids))-n+2 { // one for the prompt, one more for the first forced ones
				t.Errorf("%q: %d steps for %d tokens, %d of them forced", got.text[0], steps, len(ids), n)
			}
			same++
			forced += n
			for most := 0; most < len(ids); most += 1 + most/3 {
				cut := ask(c, question, func(r *engine.GenerateRequest) { r.MaxTokens = most + 1 })
				want := ask(c, question, func(r *engine.GenerateRequest) { r.MaxTokens, r.Sample.Logprobs = most+1, true })
				if cut.text[0] != want.text[0] || cut.reason[0] != want.reason[0] || cut.done.OutputTokens != want.done.OutputTokens {
					t.Errorf("%q after %d tokens: got %q, %s, want %q, %s", question, most+1, cut.text[0], cut.reason[0], want.text[0], want.reason[0])
				}
			}
			for from := 0; from+3 <= len(got.text[0]); from += 5 {
				stop := func(r *engine.GenerateRequest) { r.Stop = []string{got.text[0][from : from+3]} }
				cut, want := ask(c, question, stop), ask(c, question, func(r *engine.GenerateRequest) { stop(r); r.Sample.Logprobs = true })
				if cut.text[0] != want.text[0] || cut.reason[0] != want.reason[0] || cut.done.OutputTokens != want.done.OutputTokens {
					t.Errorf("%q to %q: got %q, %d, want %q, %d", question, got.text[0][from:from+3], cut.text[0], cut.done.OutputTokens, want.text[0], want.done.OutputTokens)
				}
			}
		}
	}
	if same < 10 || forced < 40 {
		t.Errorf("%d replies were compared, with %d forced tokens: too few to tell", same, forced)
	}
	t.Logf("%d replies, %d forced tokens", same, forced)
}
