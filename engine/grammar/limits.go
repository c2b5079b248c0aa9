package grammar

import "fmt"

// Limits bound what a grammar may cost. Zero stands for the default.
type Limits struct {
	Nodes       int // parts of the grammar and of its regular expressions, before compiling (100,000)
	Depth       int // how deep they are nested (500)
	Expressions int // distinct regular expressions, derivatives among them (500,000)
	States      int // states of the lexer, for all sequences of the grammar together (100,000)
	Fuel        int // steps to make one state of the lexer (1,000,000)
	Compile     int // steps to compile (5,000,000)
	Items       int // Earley items in one row (20,000)
	Rows        int // rows of one sequence (1,000,000)
	Total       int // Earley items of all rows of one sequence (4,000,000)
	Threads     int // places where a text may be in the grammar at once, apart from nested rules (200)
	Work        int // steps of lexer and rows for one token or one mask (3,000,000)
	Memory      int // bytes of expressions and states, those made while generating among them (32 MiB)
	Memo        int // bytes of remembered masks; old ones are forgotten (16 MiB)
}

var defaults = Limits{
	Nodes: 100_000, Depth: 500, Expressions: 500_000, States: 100_000, Fuel: 1_000_000, Compile: 5_000_000,
	Items: 20_000, Rows: 1_000_000, Total: 4_000_000, Threads: 200, Work: 3_000_000, Memory: 32 << 20, Memo: 16 << 20,
}

func (l Limits) filled() Limits {
	for _, f := range []struct {
		n *int
		d int
	}{
		{&l.Nodes, defaults.Nodes}, {&l.Depth, defaults.Depth}, {&l.Expressions, defaults.Expressions},
		{&l.States, defaults.States}, {&l.Fuel, defaults.Fuel}, {&l.Compile, defaults.Compile},
		{&l.Items, defaults.Items}, {&l.Rows, defaults.Rows}, {&l.Total, defaults.Total},
		{&l.Threads, defaults.Threads}, {&l.Work, defaults.Work}, {&l.Memory, defaults.Memory}, {&l.Memo, defaults.Memo},
	} {
		if *f.n <= 0 {
			*f.n = f.d
		}
	}
	return l
}

// A LimitError says which of the Limits a grammar passed.
type LimitError struct {
	Name string // as in Limits, in words
	Max  int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("grammar: more than %d %s; make the grammar smaller or its repetitions shorter", e.Max, e.Name)
}
