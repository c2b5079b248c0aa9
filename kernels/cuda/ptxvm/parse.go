package ptxvm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by errors about text that is not PTX, ErrUnsupported by
// those about PTX that this package does not run.
var (
	ErrFormat      = errors.New("ptxvm: malformed PTX")
	ErrUnsupported = errors.New("ptxvm: unsupported PTX")
)

// A Module is what one PTX file holds.
type Module struct {
	Target  string // "sm_75"
	Version string // of the ISA: "6.3"

	kernels map[string]*Kernel
	vars    *region
	symbols map[string]uint64 // addresses of the module's variables
	open    map[string]int    // alignments of names for what a launch adds to shared memory
}

// A Kernel is one entry of a Module.
type Kernel struct {
	Name string

	params     []parameter
	paramBytes int
	maxThreads int // per block; 0 where the PTX does not say
	code       []inst
	regs       int
	specials   map[string]int // the special registers it reads, and their places
	shared     int            // bytes of shared memory
	local      int            // bytes of local memory of a thread
	vars       *region
	wgmma      bool // has some
}

type parameter struct{ off, size int }

// Kernel returns the kernel of that name, nil when there is none.
func (m *Module) Kernel(name string) *Kernel { return m.kernels[name] }

// Names returns the names of the kernels in ascending order.
func (m *Module) Names() []string { return slices.Sorted(maps.Keys(m.kernels)) }

// Params returns the sizes of the kernel's parameters in bytes, in order.
func (k *Kernel) Params() []int {
	sizes := make([]int, len(k.params))
	for i, p := range k.params {
		sizes[i] = p.size
	}
	return sizes
}

// Parse reads a PTX module. Errors wrap ErrFormat or ErrUnsupported and name
// the line.
func Parse(src string) (*Module, error) {
	m := &Module{kernels: map[string]*Kernel{}, symbols: map[string]uint64{}, open: map[string]int{}, vars: newRegion(moduleWindow, 0)}
	s := &scanner{src: src, line: 1}
	for {
		s.skip()
		if s.src == "" {
			return m, nil
		}
		if err := m.directive(s); err != nil {
			return nil, fmt.Errorf("%w (line %d)", err, s.line)
		}
	}
}

// directive reads one item of the module's level.
func (m *Module) directive(s *scanner) error {
	word := s.word()
	for word == ".visible" || word == ".weak" {
		word = s.word()
	}
	switch word {
	case ".version":
		m.Version = s.word()
	case ".target":
		m.Target = s.word()
	case ".address_size":
		if size := s.word(); size != "64" {
			return fmt.Errorf("%w: addresses of %q bits", ErrUnsupported, size)
		}
	case ".entry":
		return m.entry(s)
	case ".global", ".const":
		text, ok := s.until(';')
		if !ok {
			return fmt.Errorf("%w: no end of a variable", ErrFormat)
		}
		return m.variable(text)
	case ".extern":
		text, ok := s.until(';')
		if !ok {
			return fmt.Errorf("%w: no end of a variable", ErrFormat)
		}
		return m.dynamic(text)
	case "":
		return fmt.Errorf("%w: %q where a directive is due", ErrFormat, s.src[:min(1, len(s.src))])
	default:
		return fmt.Errorf("%w: directive %q", ErrUnsupported, word)
	}
	return nil
}

// variable reads what follows .global or .const.
func (m *Module) variable(text string) error {
	decl, list, filled := strings.Cut(text, "=")
	v, err := declaration(decl)
	if err != nil {
		return err
	}
	if _, ok := m.symbols[v.name]; ok {
		return fmt.Errorf("%w: a second variable %s", ErrFormat, v.name)
	}
	at := alignTo(len(m.vars.data), v.align)
	if len(m.symbols) >= 1024 || v.bytes > maxVariable || at > maxVariable-v.bytes {
		return fmt.Errorf("%w: more than 1024 variables or %d bytes of them", ErrUnsupported, maxVariable)
	}
	grown := newRegion(moduleWindow, at+v.bytes)
	grown.fill(0, m.vars.data)
	// The ISA starts variables at zero.
	grown.fill(at, make([]byte, v.bytes))
	if filled {
		list = strings.TrimSpace(list)
		list, open := strings.CutPrefix(list, "{")
		list, shut := strings.CutSuffix(list, "}")
		values := strings.Split(list, ",")
		if open != shut || len(values) > v.bytes/v.of.size {
			return fmt.Errorf("%w: values of %s", ErrFormat, v.name)
		}
		for i, text := range values {
			value, err := number(strings.TrimSpace(text))
			if err != nil {
				return err
			}
			for j := range v.of.size {
				grown.data[at+i*v.of.size+j] = byte(value >> (8 * j))
			}
		}
	}
	*m.vars = *grown
	m.symbols[v.name] = moduleWindow + uint64(at)
	return nil
}

// dynamic reads what follows .extern: shared memory whose size a launch says.
func (m *Module) dynamic(text string) error {
	decl, ok := strings.CutPrefix(text, ".shared ")
	if !ok {
		return fmt.Errorf("%w: .extern %q", ErrUnsupported, text)
	}
	v, err := declaration(decl)
	if err != nil {
		return err
	}
	if !v.open || len(m.open) >= 1024 {
		return fmt.Errorf("%w: shared memory %q of a module", ErrUnsupported, text)
	}
	m.open[v.name] = v.align
	return nil
}

// A variable is what a state space declaration says.
type variable struct {
	name         string
	of           numType
	align, bytes int // bytes is 0 for "name[]"
	open         bool
}

// declaration reads ".align 4 .b8 name[32]" or ".u64 .ptr .align 1 name"; the
// space is read already.
func declaration(text string) (v variable, err error) {
	bad := fmt.Errorf("%w: declaration %q", ErrFormat, text)
	f := strings.Fields(text)
	if len(f) >= 2 && f[0] == ".align" {
		v.align, err = strconv.Atoi(f[1])
		if err != nil || v.align < 1 || v.align > 4096 || v.align&(v.align-1) != 0 {
			return v, bad
		}
		f = f[2:]
	}
	if len(f) == 5 && f[1] == ".ptr" && f[2] == ".align" {
		// What a pointer parameter points to; accesses are checked by address.
		f = []string{f[0], f[4]}
	}
	if len(f) != 2 || !strings.HasPrefix(f[0], ".") {
		return v, bad
	}
	of, ok := numTypes[f[0][1:]]
	if !ok || of.kind == predicate {
		return v, fmt.Errorf("%w: a variable of %q", ErrUnsupported, f[0])
	}
	v.of = of
	v.align = max(v.align, of.size)
	name, rest, array := strings.Cut(f[1], "[")
	v.name, v.bytes = name, of.size
	if array {
		count, shut := strings.CutSuffix(rest, "]")
		if !shut {
			return v, bad
		}
		n := 0
		if count == "" {
			v.open = true
		} else if n, err = strconv.Atoi(count); err != nil || n < 0 || n > maxVariable {
			return v, bad
		}
		v.bytes = n * of.size
	}
	if name == "" {
		return v, bad
	}
	return v, nil
}

func alignTo(n, align int) int { return (n + align - 1) &^ (align - 1) }

// entry reads a kernel, from its name to its closing brace.
func (m *Module) entry(s *scanner) error {
	k := &Kernel{Name: s.word(), specials: map[string]int{}, vars: m.vars}
	if k.Name == "" || m.kernels[k.Name] != nil {
		return fmt.Errorf("%w: kernel %q has no name of its own", ErrFormat, k.Name)
	}
	p := newParser(k, m.symbols, m.open)
	s.skip()
	if strings.HasPrefix(s.src, "(") {
		list, ok := s.until(')')
		if !ok {
			return fmt.Errorf("%w: no end of the parameters of %s", ErrFormat, k.Name)
		}
		if err := p.parameters(list[1:]); err != nil {
			return err
		}
	}
	head, ok := s.until('{')
	if !ok {
		return fmt.Errorf("%w: kernel %s has no body", ErrFormat, k.Name)
	}
	if err := k.tuning(head); err != nil {
		return err
	}
	if err := p.body(s); err != nil {
		return fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	m.kernels[k.Name] = k
	return nil
}

// tuning reads performance directives; .maxntid is checked at launch.
func (k *Kernel) tuning(head string) error {
	f := strings.Fields(strings.ReplaceAll(head, ",", " "))
	for i := 0; i < len(f); {
		name := f[i]
		n := 1
		for i++; i < len(f) && !strings.HasPrefix(f[i], "."); i++ {
			v, err := strconv.Atoi(f[i])
			if err != nil || v < 1 || v > maxThreads {
				return fmt.Errorf("%w: %s %s", ErrFormat, name, f[i])
			}
			n = min(n*v, maxThreads)
		}
		switch name {
		case ".maxntid":
			k.maxThreads = n
		case ".minnctapersm", ".maxnreg":
		default:
			return fmt.Errorf("%w: directive %q", ErrUnsupported, name)
		}
	}
	return nil
}

func (p *parser) parameters(list string) error {
	k := p.kernel
	if strings.TrimSpace(list) == "" {
		return nil
	}
	for _, text := range strings.Split(list, ",") {
		text, ok := strings.CutPrefix(strings.TrimSpace(text), ".param")
		if !ok {
			return fmt.Errorf("%w: parameter %q", ErrFormat, text)
		}
		v, err := declaration(text)
		if err != nil {
			return err
		}
		if v.bytes != v.of.size {
			return fmt.Errorf("%w: parameter %s is an array", ErrUnsupported, v.name)
		}
		at := alignTo(k.paramBytes, v.align)
		k.params = append(k.params, parameter{at, v.bytes})
		k.paramBytes = at + v.bytes
		p.symbols[v.name] = uint64(at)
	}
	return nil
}

// A scanner walks PTX by words and statements, without comments.
type scanner struct {
	src  string
	line int
}

func (s *scanner) advance(n int) {
	s.line += strings.Count(s.src[:n], "\n")
	s.src = s.src[n:]
}

// skip passes white space and comments.
func (s *scanner) skip() {
	for {
		s.advance(len(s.src) - len(strings.TrimLeft(s.src, " \t\r\n")))
		end := "\n"
		switch {
		case strings.HasPrefix(s.src, "//"):
		case strings.HasPrefix(s.src, "/*"):
			end = "*/"
		default:
			return
		}
		if i := strings.Index(s.src, end); i >= 0 {
			s.advance(i + len(end))
		} else {
			s.advance(len(s.src))
		}
	}
}

// word reads letters up to white space or punctuation; "" where there is none.
func (s *scanner) word() string {
	s.skip()
	n := strings.IndexAny(s.src, " \t\r\n(){};,=\"")
	if n < 0 {
		n = len(s.src)
	}
	w := s.src[:n]
	s.advance(n)
	return w
}

// until reads up to end and past it; the text comes without comments.
func (s *scanner) until(end byte) (string, bool) {
	var b strings.Builder
	for {
		s.skip()
		n := strings.IndexAny(s.src, "/ \t\r\n"+string(end))
		if n < 0 {
			return "", false
		}
		b.WriteString(s.src[:n])
		c := s.src[n]
		s.advance(n)
		switch {
		case c == end:
			s.advance(1)
			return strings.TrimSpace(b.String()), true
		case c == '/' && !strings.HasPrefix(s.src, "//") && !strings.HasPrefix(s.src, "/*"):
			s.advance(1)
			b.WriteByte(c)
		default:
			b.WriteByte(' ')
		}
	}
}

// number reads a constant: decimal, hexadecimal, or 0f and 0d with the bits of
// a float.
func number(text string) (uint64, error) {
	var v uint64
	var err error
	switch {
	case strings.HasPrefix(text, "0f") || strings.HasPrefix(text, "0F"):
		v, err = strconv.ParseUint(text[2:], 16, 32)
	case strings.HasPrefix(text, "0d") || strings.HasPrefix(text, "0D"):
		v, err = strconv.ParseUint(text[2:], 16, 64)
	case strings.HasPrefix(text, "-"):
		var i int64
		i, err = strconv.ParseInt(text, 0, 64)
		v = uint64(i)
	default:
		v, err = strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: number %q", ErrFormat, text)
	}
	return v, nil
}
