package pretoken

// Cut is a splitter as a step of a pipeline.
func (s *Splitter) Cut(text string, first bool, emit func(string, bool)) {
	var c Cursor
	c.Begin(s, text)
	for piece := c.Next(); piece != ""; piece = c.Next() {
		emit(piece, first)
		first = false
	}
}

// Finder finds the matches of the only pass of a splitter.
func (s *Splitter) Finder(text string) func(from int) (start, end int) {
	c := &Cursor{}
	c.Begin(s, text)
	p := &c.places[0]
	return func(from int) (int, int) {
		p.at = from
		c.find(p, &s.passes[0])
		return p.start, p.end
	}
}

// NotSpace emits what stands between white space.
func NotSpace(s string, first bool, emit func(string, bool)) {
	t := Classes()
	for i := 0; i < len(s); {
		c, w := t.at(s, i)
		if c&Space != 0 {
			i, first = i+w, false
			continue
		}
		end := t.runOut(s, i, Space)
		emit(s[i:end], first)
		i, first = end, false
	}
}

// WordsAndSigns emits the matches of \w+|[^\w\s]+.
func WordsAndSigns(s string, first bool, emit func(string, bool)) {
	t := Classes()
	for i := 0; i < len(s); {
		c, w := t.at(s, i)
		end := i + w
		switch {
		case c&Space != 0:
			i, first = end, false
			continue
		case c&WordChar != 0:
			end = t.run(s, i, set{in: WordChar})
		default:
			end = t.runOut(s, i, WordChar|Space)
		}
		emit(s[i:end], first)
		i, first = end, false
	}
}
