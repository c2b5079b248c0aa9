package ptxvm

import (
	"fmt"
	"strconv"
	"strings"
)

// A flow says how an instruction moves the program counter.
type flow byte

const (
	next       flow = iota
	jump            // to target, where the guard holds
	leave           // the thread ends
	trap            // the launch ends
	meet            // wait for the block
	collective      // wait for the lanes in members
)

// An inst is one decoded instruction.
type inst struct {
	line    int
	text    string
	guarded bool
	negated bool
	guard   operand
	flow    flow
	target  int
	members operand // the lane mask of a collective
	run     func(w *warp, m uint32)
}

// An operand is a register, or a value all lanes share.
type operand struct {
	name  string
	reg   int
	size  int    // of a register, in bytes
	value *lanes // nil for a register
	off   uint64 // of an address
	mem   bool
	vec   []operand
	label bool
}

// A parser reads a kernel's body. Registers get places as they appear, so
// their number is bounded by the text.
type parser struct {
	kernel    *Kernel
	globals   map[string]uint64
	open      map[string]int    // alignments of names for dynamic shared memory
	closed    bool              // that has its place: no more variables before it
	symbols   map[string]uint64 // parameters and variables of the kernel
	places    map[string]int    // of registers
	declared  map[string]int    // "%r" of %r<9>, or a whole name with count 0
	sizes     map[string]int    // of what is declared, in bytes
	labels    map[string]int
	constants map[uint64]operand
	jumps     map[int]string
}

func newParser(k *Kernel, globals map[string]uint64, open map[string]int) *parser {
	return &parser{
		kernel: k, globals: globals, open: open, symbols: map[string]uint64{}, places: map[string]int{},
		declared: map[string]int{}, sizes: map[string]int{}, constants: map[uint64]operand{}, labels: map[string]int{}, jumps: map[int]string{},
	}
}

// body reads statements up to the brace that closes the kernel.
func (p *parser) body(s *scanner) error {
	k := p.kernel
	depth := 0
	for {
		s.skip()
		// A block in braces has registers of its own. Here they outlive it, which
		// hides nothing but a use of one that was never declared again.
		if strings.HasPrefix(s.src, "{") {
			s.advance(1)
			depth++
			continue
		}
		if strings.HasPrefix(s.src, "}") {
			s.advance(1)
			if depth--; depth < 0 {
				break
			}
			continue
		}
		line := s.line
		if name, ok := p.label(s); ok {
			if _, ok := p.labels[name]; ok {
				return fmt.Errorf("%w: a second label %s", ErrFormat, name)
			}
			p.labels[name] = len(k.code)
			continue
		}
		text, ok := s.until(';')
		if !ok {
			return fmt.Errorf("%w: a body without an end", ErrFormat)
		}
		if text == "" {
			continue
		}
		if err := p.statement(text, line); err != nil {
			return err
		}
	}
	if k.shared > maxShared || k.local > maxVariable {
		return fmt.Errorf("%w: %d bytes of shared, %d of local memory", ErrUnsupported, k.shared, k.local)
	}
	if len(k.code) == 0 || !k.code[len(k.code)-1].ends() {
		return fmt.Errorf("%w: code runs past its end", ErrFormat)
	}
	for i, name := range p.jumps {
		at, ok := p.labels[name]
		if !ok || at >= len(k.code) {
			return fmt.Errorf("%w: no instruction at label %q", ErrFormat, name)
		}
		k.code[i].target = at
	}
	k.regs = len(p.places)
	return nil
}

func (in *inst) ends() bool {
	return !in.guarded && (in.flow == leave || in.flow == jump || in.flow == trap)
}

// label reads "name:".
func (p *parser) label(s *scanner) (string, bool) {
	n := strings.IndexAny(s.src, " \t\r\n;,[({:")
	if n <= 0 || s.src[n] != ':' || strings.HasPrefix(s.src[n:], "::") {
		return "", false
	}
	name := s.src[:n]
	s.advance(n + 1)
	return name, true
}

func (p *parser) statement(text string, line int) error {
	k := p.kernel
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case ".reg":
		return p.registers(rest)
	case ".shared", ".local":
		v, err := declaration(rest)
		if err != nil {
			return err
		}
		if _, ok := p.symbols[v.name]; ok || v.open || p.closed && word == ".shared" {
			return fmt.Errorf("%w: variable %s", ErrFormat, v.name)
		}
		size := &k.shared
		base := uint64(0)
		if word == ".local" {
			size = &k.local
		}
		*size = alignTo(*size, v.align)
		p.symbols[v.name] = base + uint64(*size)
		*size = min(*size+v.bytes, 4*maxVariable)
		return nil
	case ".pragma":
		return nil
	}
	if strings.HasPrefix(word, ".") {
		return fmt.Errorf("%w: %q (line %d)", ErrUnsupported, word, line)
	}
	in := inst{line: line, text: text}
	if guard, ok := strings.CutPrefix(word, "@"); ok {
		guard, in.negated = strings.CutPrefix(guard, "!")
		var err error
		if in.guard, err = p.operand(guard); err != nil {
			return err
		}
		if g := in.guard; g.value != nil || g.vec != nil || g.mem {
			return fmt.Errorf("%w: guard %q (line %d)", ErrFormat, guard, line)
		}
		in.guarded = true
		text = strings.TrimSpace(rest)
	}
	if err := p.decode(&in, text); err != nil {
		return fmt.Errorf("%w (line %d: %s)", err, line, in.text)
	}
	k.code = append(k.code, in)
	return nil
}

// registers reads ".f32 %f<22>" or ".b32 a, b"; ".reg" is read already. Types
// are those of the instructions; a declaration only makes names known.
func (p *parser) registers(text string) error {
	kind, names, _ := strings.Cut(strings.TrimSpace(text), " ")
	of, ok := numTypes[strings.TrimPrefix(kind, ".")]
	if !ok {
		return fmt.Errorf("%w: registers of %q", ErrUnsupported, kind)
	}
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		name, count, many := strings.Cut(name, "<")
		n := 0
		if many {
			var err error
			if n, err = strconv.Atoi(strings.TrimSuffix(count, ">")); err != nil || n < 1 {
				return fmt.Errorf("%w: registers %q", ErrFormat, text)
			}
		}
		if name == "" {
			return fmt.Errorf("%w: registers %q", ErrFormat, text)
		}
		p.declared[name], p.sizes[name] = n, of.size
	}
	return nil
}

func (p *parser) register(name string) (operand, error) {
	stem := strings.TrimRight(name, "0123456789")
	n, one := p.declared[name]
	size := p.sizes[stem]
	if one && n == 0 {
		size = p.sizes[name]
	}
	if at, ok := p.places[name]; ok {
		return operand{name: name, reg: at, size: size}, nil
	}
	_, special := specials[name]
	i, err := strconv.Atoi(name[len(stem):])
	if known := special || name == "_" || one && n == 0 || err == nil && i < p.declared[stem]; !known {
		return operand{}, fmt.Errorf("%w: no register %q", ErrFormat, name)
	}
	at := len(p.places)
	p.places[name] = at
	if special {
		p.kernel.specials[name] = at
	}
	return operand{name: name, reg: at, size: size}, nil
}

func (p *parser) operand(text string) (operand, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return operand{}, fmt.Errorf("%w: an operand is missing", ErrFormat)
	case text[0] == '{':
		inner, ok := strings.CutSuffix(text[1:], "}")
		if !ok || strings.Contains(inner, "{") {
			return operand{}, fmt.Errorf("%w: vector %q", ErrFormat, text)
		}
		var o operand
		for _, part := range strings.Split(inner, ",") {
			e, err := p.operand(part)
			if err != nil {
				return o, err
			}
			o.vec = append(o.vec, e)
		}
		return o, nil
	case text[0] == '[':
		inner, ok := strings.CutSuffix(text[1:], "]")
		if !ok || strings.HasPrefix(inner, "[") {
			return operand{}, fmt.Errorf("%w: address %q", ErrFormat, text)
		}
		base, off, plus := strings.Cut(inner, "+")
		o, err := p.operand(base)
		if err != nil {
			return o, err
		}
		if plus {
			if o.off, err = number(strings.TrimSpace(off)); err != nil {
				return o, err
			}
		}
		if o.vec != nil {
			return o, fmt.Errorf("%w: address %q", ErrFormat, text)
		}
		o.mem = true
		return o, nil
	case text[0] == '%' || text == "_":
		return p.register(text)
	}
	name, off, plus := strings.Cut(text, "+")
	v, ok := p.symbols[name]
	if !ok {
		v, ok = p.globals[name]
	}
	if align, is := p.open[name]; !ok && is {
		// What a launch adds begins behind the kernel's own.
		k := p.kernel
		k.shared = alignTo(k.shared, align)
		v, ok, p.closed = uint64(k.shared), true, true
		p.symbols[name] = v
	}
	if ok && plus {
		more, err := number(off)
		if err != nil {
			return operand{}, err
		}
		v += more
	}
	if !ok {
		if c := text[0]; c != '-' && (c < '0' || c > '9') {
			return p.named(text)
		}
		var err error
		if v, err = number(text); err != nil {
			return operand{}, err
		}
	}
	c, ok := p.constants[v]
	if !ok {
		c = constantOf(v)
		p.constants[v] = c
	}
	return c, nil
}

// named is a register without a percent sign, or else a label.
func (p *parser) named(text string) (operand, error) {
	if o, err := p.register(text); err == nil {
		return o, nil
	}
	return operand{name: text, label: true, value: &lanes{}}, nil
}

func constantOf(v uint64) operand {
	o := operand{value: new(lanes)}
	for l := range o.value {
		o.value[l] = v
	}
	return o
}

// split cuts operands at commas outside braces and brackets.
func split(text string) (parts []string) {
	depth, from := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, text[from:i])
				from = i + 1
			}
		}
	}
	if rest := text[from:]; strings.TrimSpace(rest) != "" || len(parts) > 0 {
		parts = append(parts, rest)
	}
	return parts
}
