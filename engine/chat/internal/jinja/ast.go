package jinja

import "slices"

// An expr is an expression. Eval it through run.eval, which counts steps and
// depth.
type expr interface {
	eval(r *run, sc *scope) Value
}

// A stmt is a statement. It writes to r.out.
type stmt interface {
	exec(r *run, sc *scope) flow
	at() int // line
}

type line int

func (l line) at() int { return int(l) }

// Expressions.
type (
	constExpr struct{ v Value }
	nameExpr  struct{ name string }
	listExpr  struct{ items []expr }
	tupleExpr struct{ items []expr }
	dictExpr  struct{ keys, vals []expr }
	notExpr   struct{ x expr }
	andExpr   struct{ l, r expr }
	orExpr    struct{ l, r expr }
	unaryExpr struct {
		op string
		x  expr
	}
	binaryExpr struct {
		op   string
		l, r expr
	}
	concatExpr  struct{ parts []expr }
	compareExpr struct {
		first expr
		ops   []string
		rest  []expr
	}
	condExpr struct{ test, then, els expr } // els may be nil
	attrExpr struct {
		x    expr
		name string
	}
	itemExpr  struct{ x, key expr }
	sliceExpr struct{ x, from, to, step expr } // the bounds may be nil
	callExpr  struct {
		fn   expr
		args callArgs
	}
	filterExpr struct {
		x    expr // nil in a filter block or block set: the captured text
		name string
		args callArgs
	}
	testExpr struct {
		x    expr
		name string
		args callArgs
	}
)

// callArgs are the arguments of a call as written.
type callArgs struct {
	pos   []expr
	names []string
	named []expr
	star  expr // *args, may be nil
	stars expr // **kwargs, may be nil
}

// A target is what set, for and with assign to: a name, an attribute of a
// namespace, or a tuple of targets.
type target struct {
	name  string
	attr  string   // set for ns.attr
	items []target // set for tuples
	tuple bool
}

// Statements.
type (
	dataStmt struct {
		line
		text string
	}
	outputStmt struct {
		line
		exprs []expr
	}
	setStmt struct {
		line
		target target
		value  expr
	}
	setBlockStmt struct {
		line
		target target
		filter expr // may be nil
		body   []stmt
	}
	ifStmt struct {
		line
		tests  []expr
		bodies [][]stmt
		els    []stmt
	}
	forStmt struct {
		line
		target    target
		iter      expr
		test      expr // may be nil
		recursive bool
		body, els []stmt
	}
	withStmt struct {
		line
		targets []target
		values  []expr
		body    []stmt
	}
	macroStmt struct {
		line
		def *macroDef
	}
	callStmt struct {
		line
		call *callExpr
		def  *macroDef
	}
	filterStmt struct {
		line
		filter expr
		body   []stmt
	}
	scopeStmt struct { // generation
		line
		body []stmt
	}
	jumpStmt struct {
		line
		to flow
	}
)

// A macroDef is a macro or the body of a call block.
type macroDef struct {
	name     string
	params   []string
	defaults []expr // of the last len(defaults) params
	body     []stmt
	// Whether the body mentions the special names, which decides what it may
	// be called with.
	caller, varargs, kwargs bool
}

func (d *macroDef) param(name string) bool {
	return slices.Contains(d.params, name)
}

// flow says how a statement ended.
type flow uint8

const (
	flowNext flow = iota
	flowBreak
	flowContinue
)
