package residency

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"quern/engine"
	"quern/engine/catalog"
	"quern/engine/rescue"
	"quern/formats/weights"
)

// placed are Kinds whose models lie where they say.
type placed struct{ sizes }

func (placed) Describe(_, path string, _ engine.ModelOptions) (*catalog.About, error) {
	return &catalog.About{Path: path}, nil
}

// TestLoadErrors: clients get the errors of readers of a file, without its path, and
// no error of the operating system.
func TestLoadErrors(t *testing.T) {
	path := filepath.FromSlash("/srv/models/a.bin")
	c, err := catalog.New(catalog.Options{Kinds: placed{}, Options: engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: path}}}})
	if err != nil {
		t.Fatal(err)
	}
	speech, known := weights.Malformed("speech model"), engine.Errorf(engine.CodeOutOfMemory, "", "no room")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%s: %w: no layers", path, speech), `model "m" cannot be loaded: malformed speech model: no layers`},
		{fmt.Errorf("%w: tensor x", weights.ErrUnsupported), `model "m" cannot be loaded: unsupported model file: tensor x`},
		{fmt.Errorf("%w: %s is a picture", weights.ErrFormat, path), `model "m" cannot be loaded: malformed model file: a.bin is a picture`},
		{errors.New("open " + path + ": permission denied"), `model "m" cannot be loaded: the server's log says why`},
		{fmt.Errorf("loading: %w", known), "no room"},
		{fmt.Errorf("loading: %w (0x1000)", rescue.ErrFault), `model "m" cannot be loaded: ` + rescue.ErrFault.Error()},
	} {
		if got := loadError(c.Find("m"), tt.err); got.Error() != tt.want {
			t.Errorf("%v becomes %q, want %q", tt.err, got, tt.want)
		}
	}
	if !errors.Is(speech, weights.ErrFormat) || errors.Is(speech, weights.ErrUnsupported) {
		t.Error("a package's own error is of another kind than it says")
	}
}
