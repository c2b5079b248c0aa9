package token

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"quern/engine/token/internal/pretoken"
)

// A Vocab is a tokenizer with all its tokens. It is immutable, apart from
// memory it reuses, and safe for concurrent use.
type Vocab struct {
	texts []string
	kinds []Kind
	ids   map[string]ID
	bytes []byte // the texts of tokens, one after another
	ends  []uint32

	special [roles]ID
	ending  []ID    // sorted
	add     [3]bool // BOS, EOS, SEP
	span    span
	prefix  bool // the first token's leading space is not part of the text
	pairs   bool

	model     model
	defined   *matcher // user-defined tokens
	all       *matcher // and control and unknown ones
	scratches sync.Pool
}

// A model encodes text without special tokens in it. fresh says that the text
// starts a sequence or follows a special token.
type model interface {
	encode(sc *scratch, dst []ID, text string, fresh bool) []ID
	// shrinks returns how many bytes of text may become one byte of what tokens
	// spell, 0 for any number, and marks bytes that may become none.
	shrinks(vanish *[256]bool) int
}

// models is the table of families.
var models = map[string]struct {
	new    func(*Spec, *Vocab) (model, error)
	render func(dst []byte, text string) []byte // of normal tokens
	// pairs says that a sequence ends with SEP instead of EOS, and that its
	// first token is rendered with a space that is not in the text.
	pairs bool
	// prefix says that SpacePrefix means something.
	prefix bool
}{
	"llama":  {new: newSPM, render: unmark, prefix: true},
	"gpt2":   {new: newBPE, render: unspell},
	"gemma4": {new: newBPE, render: unmark},
	"bert":   {new: newWordPiece, render: unmark, pairs: true},
	"t5":     {new: newUnigram, render: unmark, prefix: true},
	"rwkv":   {new: newWorld, render: unescape},

	// Those of tokenizer.json, by how they spell tokens.
	"hf-bytes":  {new: newPipeline, render: unspell},
	"hf-marked": {new: newPipeline, render: unmark, prefix: true},
	"hf-words":  {new: newPipeline, render: unhash, prefix: true},
}

// New builds a Vocab. It keeps s.Tokens; the rest of s may be changed after.
// Errors wrap ErrFormat or ErrUnsupported.
func New(s Spec) (*Vocab, error) {
	family, ok := models[s.Model]
	if !ok {
		return nil, fmt.Errorf("%w: model %q; known: %v", ErrUnsupported, s.Model, slices.Sorted(maps.Keys(models)))
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	v := &Vocab{
		texts:  s.Tokens,
		kinds:  make([]Kind, len(s.Tokens)),
		ids:    make(map[string]ID, len(s.Tokens)),
		ends:   make([]uint32, len(s.Tokens)),
		add:    [3]bool{s.AddBOS, s.AddEOS, s.AddSEP},
		prefix: family.pairs || family.prefix && s.SpacePrefix,
		pairs:  family.pairs,
	}
	for i, text := range s.Tokens {
		v.kinds[i] = s.kind(ID(i))
		if text == "" {
			continue
		}
		if old, dup := v.ids[text]; dup {
			return nil, fmt.Errorf("%w: tokens %d and %d are both %.40q", ErrFormat, old, i, text)
		}
		v.ids[text] = ID(i)
	}
	v.assign(&s)

	render := family.render
	if s.Model == "gpt2" {
		pre, err := pretoken.Named(s.Pre)
		if err != nil {
			return nil, err
		}
		if pre.Raw {
			render = unmark
		}
	}
	for i, text := range s.Tokens {
		switch v.kinds[i] {
		case Byte:
			b, ok := byteToken(text)
			if !ok {
				return nil, fmt.Errorf("%w: byte token %d is %.40q", ErrFormat, i, text)
			}
			v.bytes = append(v.bytes, b)
		case Normal, Unused:
			v.bytes = render(v.bytes, text)
		default:
			v.bytes = append(v.bytes, text...)
		}
		if len(v.bytes) > 1<<32-1 {
			return nil, fmt.Errorf("%w: tokens of more than 4 GiB", ErrUnsupported)
		}
		v.ends[i] = uint32(len(v.bytes))
	}
	v.match(&s)
	var err error
	if v.model, err = family.new(&s, v); err != nil {
		return nil, err
	}
	v.measure(&s)
	v.scratches.New = func() any { return new(scratch) }
	return v, nil
}

// match builds the matchers of special tokens.
func (v *Vocab) match(s *Spec) {
	strips := s.strips()
	var defined, all []ID
	for i, kind := range v.kinds {
		if v.texts[i] == "" {
			continue
		}
		switch kind {
		case UserDefined:
			defined = append(defined, ID(i))
			all = append(all, ID(i))
		case Control, Unknown:
			all = append(all, ID(i))
		}
	}
	v.defined = newMatcher(v.texts, defined, strips)
	v.all = newMatcher(v.texts, all, strips)
}

// byteToken reads <0xXX>.
func byteToken(text string) (byte, bool) {
	if len(text) != 6 || text[:3] != "<0x" || text[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(text[3:5], 16, 8)
	return byte(b), err == nil
}

// plain reports whether text may turn into the token without being spelled as
// a special one.
func (v *Vocab) plain(id ID) bool {
	switch v.kinds[id] {
	case Normal, UserDefined, Unused:
		return true
	}
	return false
}

// Size returns the number of tokens.
func (v *Vocab) Size() int { return len(v.texts) }

// Text returns a token as the model file spells it, "" for ids that are not in
// the vocabulary.
func (v *Vocab) Text(id ID) string {
	if id < 0 || int(id) >= len(v.texts) {
		return ""
	}
	return v.texts[id]
}

// Kind returns the kind of a token, Unused for ids that are not in the
// vocabulary.
func (v *Vocab) Kind(id ID) Kind {
	if id < 0 || int(id) >= len(v.kinds) {
		return Unused
	}
	return v.kinds[id]
}

// Lookup finds a token by the spelling Text returns.
func (v *Vocab) Lookup(text string) (ID, bool) {
	id, ok := v.ids[text]
	return id, ok
}

// Special returns the token that has a role, or None.
func (v *Vocab) Special(r Role) ID {
	if r >= roles {
		return None
	}
	return v.special[r]
}

// Ends reports whether a model that produces id has finished.
func (v *Vocab) Ends(id ID) bool {
	_, ok := slices.BinarySearch(v.ending, id)
	return ok
}

// Ending returns the tokens that finish a text, in order of id.
func (v *Vocab) Ending() []ID { return slices.Clone(v.ending) }

// AddBOS reports whether a sequence starts with BOS.
func (v *Vocab) AddBOS() bool { return v.add[0] }

// AddEOS reports whether a sequence ends with EOS.
func (v *Vocab) AddEOS() bool { return v.add[1] }

// AddSEP reports whether SEP ends a sequence or divides two texts in one.
func (v *Vocab) AddSEP() bool { return v.add[2] }

// Bytes returns the bytes of one token, nil for ids that are not in the
// vocabulary. Control tokens are their spelling. The slice is shared and must
// not be written.
func (v *Vocab) Bytes(id ID) []byte {
	if id < 0 || int(id) >= len(v.ends) {
		return nil
	}
	from := uint32(0)
	if id > 0 {
		from = v.ends[id-1]
	}
	return v.bytes[from:v.ends[id]:v.ends[id]]
}

// maxRun is the most text a model sees at once; longer text is cut. It keeps
// offsets within 32 bits even where every space becomes three bytes.
const maxRun = 1 << 28

// Encode appends the tokens of text to dst. User-defined tokens spelled in
// text are always found; control tokens only if special is true, and the
// vocabulary has no other way to reach them from text.
func (v *Vocab) Encode(dst []ID, text string, special bool) []ID {
	m := v.defined
	if special {
		m = v.all
	}
	return v.encode(dst, text, m, nil, nil)
}

// EncodeTrusted is Encode for a prompt that is partly a client's: control
// tokens are honoured only where trusted says that none of the bytes
// text[from:to] they are spelled with came from the client. Other text is
// encoded in one piece wherever it came from, as the model was trained.
func (v *Vocab) EncodeTrusted(dst []ID, text string, trusted func(from, to int) bool) []ID {
	return v.encode(dst, text, v.all, v.accepting(trusted), nil)
}

// accepting says which matches of special tokens count.
func (v *Vocab) accepting(trusted func(from, to int) bool) func(id ID, from, to int) bool {
	return func(id ID, from, to int) bool { return v.kinds[id] == UserDefined || trusted(from, to) }
}

func (v *Vocab) encode(dst []ID, text string, m *matcher, accept func(id ID, start, end int) bool, check func(tokens int) error) []ID {
	sc := v.scratches.Get().(*scratch)
	sc.watch = watch{check: check}
	sc.merger.watch = &sc.watch
	fresh := true
	for at := 0; at < len(text); {
		sc.word(1, dst)
		id, start, end := m.next(text, at, accept)
		left, next := start, end
		if id != None {
			left, next = m.around(id, text, at, start, end)
		}
		for at < left {
			n := min(left-at, maxRun)
			sc.start = at == 0
			dst = v.model.encode(sc, dst, text[at:at+n], fresh)
			at, fresh = at+n, false
		}
		if id != None {
			dst = append(dst, id)
			fresh = true
		}
		at = next
	}
	if sc.small() {
		sc.watch = watch{}
		v.scratches.Put(sc)
	}
	return dst
}

// EncodeSequence is Encode for a text that stands alone: with the tokens the
// model wants before and after it.
func (v *Vocab) EncodeSequence(text string, special bool) []ID {
	return v.end(v.Encode(v.begin(), text, special))
}

// begin is the tokens that the model needs before a sequence.
func (v *Vocab) begin() []ID {
	if v.AddBOS() {
		return []ID{v.special[BOS]}
	}
	return nil
}

// end appends the tokens that the model needs after one.
func (v *Vocab) end(dst []ID) []ID {
	switch {
	case v.pairs && v.AddSEP():
		dst = append(dst, v.special[SEP])
	case !v.pairs && v.AddEOS():
		dst = append(dst, v.special[EOS])
	}
	return dst
}
