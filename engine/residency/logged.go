package residency

import (
	"context"
	"errors"
	"log/slog"

	"quern/engine"
)

// A loggedError is the error last logged of a model that cannot be loaded. Every
// request may try again, and each would log it anew.
type loggedError struct {
	text    string
	repeats int // times it was not logged again
}

// note reports whether text differs from the last error, and if so how often that was not
// logged again.
func (c *loggedError) note(text string) (changed bool, before int) {
	if text == c.text {
		c.repeats++
		return false, 0
	}
	before = c.repeats
	*c = loggedError{text: text}
	return true, before
}

// logFailedLoad logs why a model was not loaded, once as long as it stays the same: err
// is the cause, answer the error that clients get. Errors, which are our fault, are all logged.
func (k *Keeper) logFailedLoad(ctx context.Context, n *resident, err, answer error) {
	level := loadLevel(answer)
	k.mu.Lock()
	changed, before := n.lastError.note(err.Error())
	k.mu.Unlock()
	if !changed && level < slog.LevelError {
		level = slog.LevelDebug
	}
	attrs := []any{"model", n.ID, "err", err}
	if before > 0 {
		attrs = append(attrs, "more_before", before)
	}
	k.log.Log(ctx, level, "model not loaded", attrs...)
}

// loadLevel is the level at which a failed load is logged: that there is no room for a
// model, or no time, is no fault of this program.
func loadLevel(err error) slog.Level {
	var known *engine.Error
	if errors.As(err, &known) && (known.Code == engine.CodeOutOfMemory || known.Code == engine.CodeShuttingDown) {
		return slog.LevelWarn
	}
	return slog.LevelError
}
