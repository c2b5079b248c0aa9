package openai

import (
	"testing"

	"quern/codecs"
)

// What is offered can be made.
func TestFormatsHaveEncoders(t *testing.T) {
	for _, name := range formats {
		if _, err := codecs.EncodingByName(name); err != nil {
			t.Error(err)
		}
	}
}
