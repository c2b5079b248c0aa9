package asr

import "context"

// A vote finds out the language of audio. One window may be music, a name or a
// greeting; where it leaves doubt those after it are asked too and the mean
// decides.
type vote struct {
	odds    map[string]float64 // sums over the windows
	windows int
}

// A language with this probability is no longer in doubt. After languageWindows
// windows the likeliest is taken.
const (
	sureLanguage    = 0.5
	languageWindows = 4
)

// add asks one more window.
func (v *vote) add(ctx context.Context, w *window) error {
	odds, err := w.language(ctx)
	if err != nil {
		return err
	}
	if v.odds == nil {
		v.odds = make(map[string]float64, len(odds))
	}
	for code, p := range odds {
		v.odds[code] += p
	}
	v.windows++
	return nil
}

// winner returns the likeliest language and its mean probability.
func (v *vote) winner() (code string, p float64) {
	code = likeliest(v.odds)
	return code, v.odds[code] / float64(max(1, v.windows))
}

func (v *vote) sure() bool {
	_, p := v.winner()
	return p >= sureLanguage || v.windows >= languageWindows
}

// settle makes the winner the language of the transcription.
func (v *vote) settle(o *Options) {
	o.Language, o.Info.Probability = v.winner()
	o.Info.Language = o.Language
}

// canvass asks the windows after the current one until the vote is sure or the
// audio ends. The caller holds no window.
func (c *clip) canvass(ctx context.Context, v *vote) error {
	for at := c.seek + c.window; !v.sure(); at += c.window {
		n, err := c.frames.Need(ctx, at+c.window)
		if err != nil {
			return err
		}
		if n-at < c.window/2 { // a short rest says little
			return nil
		}
		if err := c.ask(ctx, v, at, c.window); err != nil {
			return err
		}
	}
	return nil
}

// ask adds the window at a frame to a vote.
func (c *clip) ask(ctx context.Context, v *vote, at, n int) error {
	w, err := c.encode(ctx, at, min(n, c.frames.Len()-at), 1)
	if err != nil {
		return err
	}
	defer w.close()
	return v.add(ctx, w)
}
