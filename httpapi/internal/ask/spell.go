package ask

import (
	"context"
	"strings"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/fault"
)

// Spelled is the text of tokens.
func Spelled(ctx context.Context, l engine.Lease, ids []token.ID) (string, error) {
	text, err := l.Detokenize(ctx, ids)
	if err != nil {
		return "", fault.Classify(ctx, err)
	}
	var b strings.Builder
	for piece := range text {
		b.Write(piece)
	}
	if ctx.Err() != nil {
		return "", fault.Classify(ctx, ctx.Err())
	}
	return b.String(), nil
}
