package residency

import (
	"context"
	"errors"
	"log/slog"

	"quern/engine"
)

// A complaint is what the log was told last about a model that cannot be loaded. Every
// request may try again, and each would tell it anew.
type complaint struct {
	text    string
	repeats int // times it was not told again
}

// tell reports whether text is news, and if so how often the complaint before was not
// told.
func (c *complaint) tell(text string) (news bool, before int) {
	if text == c.text {
		c.repeats++
		return false, 0
	}
	before = c.repeats
	*c = complaint{text: text}
	return true, before
}

// logFailedLoad logs why a model was not loaded, once as long as it stays the same: err
// is the cause, told what clients hear. Errors, which are our fault, are all logged.
func (k *Keeper) logFailedLoad(ctx context.Context, n *resident, err, told error) {
	level := loadLevel(told)
	k.mu.Lock()
	news, before := n.complaint.tell(err.Error())
	k.mu.Unlock()
	if !news && level < slog.LevelError {
		level = slog.LevelDebug
	}
	attrs := []any{"model", n.ID, "err", err}
	if before > 0 {
		attrs = append(attrs, "more_before", before)
	}
	k.log.Log(ctx, level, "model not loaded", attrs...)
}

// loadLevel says how loud a load that failed is logged: that there is no room for a
// model, or no time, is no fault of this program.
func loadLevel(err error) slog.Level {
	var known *engine.Error
	if errors.As(err, &known) && (known.Code == engine.CodeOutOfMemory || known.Code == engine.CodeShuttingDown) {
		return slog.LevelWarn
	}
	return slog.LevelError
}
