package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
)

// A hearing is how well speakers are understood: what is measured, and what with.
type hearing struct {
	recogniser string  // folder of its model
	cache      string  // folder of what was heard before; "" keeps nothing
	only       string  // speakers, separated by commas; "" takes all
	sentences  int     // of each set; 0 takes all
	most       float64 // per cent of words that any speaker may have wrong; 0 is no bound
	out        string  // folder of the table; "" writes none
	verbose    bool    // print what was misheard
}

// An understood is what became of a speaker's sentences: those the voices were
// fitted to, and those they were not.
type understood struct {
	speaker
	raw, spelled [2]score
}

// sum is the score of both sets.
func sum(s [2]score) score { return score{s[0].words + s[1].words, s[0].wrong + s[1].wrong} }

// intelligibility lets a recogniser write down what speakers say, and counts the
// words it gets wrong.
func intelligibility(ctx context.Context, o hearing, out io.Writer) (err error) {
	defer must.Catch(&err)
	speakers := append(must.Get(ours()), theirs()...)
	if o.only != "" {
		names := strings.Split(o.only, ",")
		for _, n := range names {
			if !slices.ContainsFunc(speakers, func(s speaker) bool { return s.name == n }) {
				return fmt.Errorf("there is no speaker %q", n)
			}
		}
		speakers = slices.DeleteFunc(speakers, func(s speaker) bool { return !slices.Contains(names, s.name) })
	}
	sets := [2][]sentence{develop, unseen}
	for i := range sets {
		if o.sentences > 0 {
			sets[i] = sets[i][:min(len(sets[i]), o.sentences)]
		}
	}
	r := &recogniser{models: o.recogniser, cache: o.cache}
	var all []understood
	for _, s := range speakers {
		u := must.Get(understand(ctx, r, s, sets, o.verbose, out))
		fmt.Fprintf(out, "%s: %.1f %% of words wrong (fitted %.1f, unseen %.1f)\n", s.name, sum(u.spelled).percent(), u.spelled[0].percent(), u.spelled[1].percent())
		all = append(all, u)
	}
	table := write(all, len(sets[0]), len(sets[1]))
	fmt.Fprint(out, "\n", table)
	if o.out != "" {
		must.Do(os.MkdirAll(o.out, 0o755))
		must.Do(os.WriteFile(filepath.Join(o.out, time.Now().Format(time.DateOnly)+"-voice.md"), []byte(table), 0o644))
	}
	for _, u := range all {
		if p := sum(u.spelled).percent(); o.most > 0 && p > o.most {
			return fmt.Errorf("%s: %.1f %% of words wrong; at most %.1f may be", u.name, p, o.most)
		}
	}
	return nil
}

// understand lets r write down what s says.
func understand(ctx context.Context, r *recogniser, s speaker, sets [2][]sentence, verbose bool, out io.Writer) (u understood, err error) {
	defer must.Catch(&err)
	u.speaker = s
	var recordings [][]float32
	for _, set := range sets {
		for _, t := range set {
			recordings = append(recordings, must.Get(s.say(ctx, t.text)))
		}
	}
	texts := must.Get(r.hear(ctx, recordings))
	for i, set := range sets {
		for _, t := range set {
			said, heard := words(t.said), words(texts[0])
			if t.said == "" {
				said = words(t.text)
			}
			texts = texts[1:]
			u.raw[i].add(compare(said, heard))
			fair := compare(said, spelled(said, heard))
			u.spelled[i].add(fair)
			if verbose && fair.wrong > 0 {
				fmt.Fprintf(out, "  %d  %s\n     %s\n", fair.wrong, strings.Join(said, " "), strings.Join(heard, " "))
			}
		}
	}
	return u, nil
}

// write spells the table.
func write(all []understood, fitted, fresh int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The built-in voice, understood, %s

`+"`go run ./bench/speech -intelligibility`"+`, %s. Words that pocketsphinx (US English model, its
defaults, 16 kHz) gets wrong, per cent, in %d sentences; less is better. The voices were fitted
to the first %d (their sounds were moved until the recogniser's acoustic model knew them best)
and not to the other %d. Spelled: an acronym written as one word counts as its letters. British
voices are heard by an American model.

| speaker | raw | spelled | spelled, fitted | spelled, unseen |
|---|---:|---:|---:|---:|
`, time.Now().Format(time.DateOnly), runtime.Version(), fitted+fresh, fitted, fresh)
	row := func(name string, raw, fair [2]score) {
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.1f | %.1f |\n", name, sum(raw).percent(), sum(fair).percent(), fair[0].percent(), fair[1].percent())
	}
	for _, group := range []string{american, british, others} {
		var raw, fair [2]score
		n := 0
		for _, u := range all {
			if u.group != group {
				continue
			}
			row(u.name, u.raw, u.spelled)
			for i := range raw {
				raw[i].add(u.raw[i])
				fair[i].add(u.spelled[i])
			}
			n++
		}
		if n > 1 && group != others {
			row("**"+group+", mean of "+fmt.Sprint(n)+"**", raw, fair)
		}
	}
	return b.String()
}
