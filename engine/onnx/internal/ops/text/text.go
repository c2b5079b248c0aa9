package text

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// stringsOf checks that input i is of strings.
func stringsOf(c *run.Call, i int) *tensor.Tensor {
	x := c.X(i)
	if x.Type != onnx.String {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	return x
}

// cases are what StringNormalizer does to letters.
var cases = map[string]func(string) string{
	"NONE": func(s string) string { return s }, "LOWER": strings.ToLower, "UPPER": strings.ToUpper,
}

// stringNormalizer drops stop words from a row and changes the case of the rest.
func stringNormalizer(c *run.Call) []*tensor.Tensor {
	x := stringsOf(c, 0)
	r := len(x.Shape)
	if r < 1 || r > 2 || r == 2 && x.Shape[0] != 1 {
		tensor.Malformed("words of shape %d", x.Shape)
	}
	action := c.Text("case_change_action", "NONE")
	change, ok := cases[action]
	if !ok {
		tensor.Malformed("case_change_action %.20q", action)
	}
	compare := cases["LOWER"]
	if c.Int("is_case_sensitive", 0) != 0 {
		compare = cases["NONE"]
	}
	stop := make(map[string]bool)
	if a := c.Attr("stopwords"); a != nil {
		for _, w := range a.Strings {
			stop[compare(w)] = true
		}
	}
	var kept []string
	for _, w := range x.S {
		if !stop[compare(w)] {
			kept = append(kept, change(w))
		}
	}
	if len(kept) == 0 {
		kept = []string{""}
	}
	shape := slices.Clone(x.Shape)
	shape[r-1] = len(kept)
	out := tensor.New(onnx.String, shape...)
	copy(out.S, kept)
	return run.One(out)
}

// maxJoined bounds the bytes of the strings StringConcat makes.
const maxJoined = 1 << 28

func stringConcat(c *run.Call) []*tensor.Tensor {
	a, b := stringsOf(c, 0), stringsOf(c, 1)
	shape := tensor.Broadcast(a.Shape, b.Shape)
	a, b = a.To(shape), b.To(shape)
	out, bytes := c.Blank(onnx.String, shape...), 0
	for i := range out.S {
		if bytes += len(a.S[i]) + len(b.S[i]); bytes > maxJoined {
			tensor.Unsupported("strings of more than %d bytes", maxJoined)
		}
		out.S[i] = a.S[i] + b.S[i]
	}
	return run.One(out)
}

// stringSplit cuts strings at a delimiter, or without one at white space, and
// returns the parts, filled up with empty ones, and their numbers.
func stringSplit(c *run.Call) []*tensor.Tensor {
	x, delimiter := stringsOf(c, 0), c.Text("delimiter", "")
	limit := -1
	if a := c.Attr("maxsplit"); a != nil && a.I >= 0 {
		limit = int(min(a.I, tensor.MaxElems))
	}
	parts, most := make([][]string, len(x.S)), 0
	numbers := c.Blank(onnx.Int64, x.Shape...)
	for i, s := range x.S {
		switch {
		case delimiter == "":
			parts[i] = words(s, limit)
		case limit < 0:
			parts[i] = strings.Split(s, delimiter)
		default:
			parts[i] = strings.SplitN(s, delimiter, limit+1)
		}
		most = max(most, len(parts[i]))
		numbers.I[i] = int64(len(parts[i]))
	}
	out := c.Blank(onnx.String, append(slices.Clone(x.Shape), most)...)
	for i, p := range parts {
		copy(out.S[i*most:], p)
	}
	return []*tensor.Tensor{out, numbers}
}

// words cuts s at white space, limit times where that is not negative.
func words(s string, limit int) []string {
	if limit < 0 {
		return strings.Fields(s)
	}
	var all []string
	for s = strings.TrimLeftFunc(s, unicode.IsSpace); s != ""; s = strings.TrimLeftFunc(s, unicode.IsSpace) {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 || len(all) == limit {
			return append(all, s)
		}
		all, s = append(all, s[:end]), s[end:]
	}
	return all
}

// regexFullMatch takes the expressions of RE2, which package regexp does too.
func regexFullMatch(c *run.Call) []*tensor.Tensor {
	x := stringsOf(c, 0)
	e, err := regexp.Compile(`\A(?:` + c.Text("pattern", "") + `)\z`)
	if err != nil {
		tensor.Malformed("%v", err)
	}
	out := c.Zeros(onnx.Bool, x.Shape...)
	for i, s := range x.S {
		if e.MatchString(s) {
			out.I[i] = 1
		}
	}
	return run.One(out)
}

// tfIdf counts the n-grams of a pool in rows of words or numbers, with up to
// max_skip_count left out between each two of them.
//
// ONNX, Operators.md, TfIdfVectorizer.
func tfIdf(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	counts, indexes := c.List("ngram_counts", -1), c.List("ngram_indexes", -1)
	low, high, skips := c.Int("min_gram_length", 1), c.Int("max_gram_length", 1), c.Int("max_skip_count", 0)
	pool, words := c.Attr("pool_int64s"), c.Attr("pool_strings")
	size := 0
	switch {
	case words != nil && x.S != nil:
		size = len(words.Strings)
	case pool != nil && x.I != nil:
		size = len(pool.Ints)
	case x.Len() > 0:
		tensor.Malformed("no pool for %v", x.Type)
	}
	if len(x.Shape) < 1 || len(x.Shape) > 2 || low < 1 || high < low || high > len(counts) || skips < 0 {
		tensor.Malformed("grams of %d to %d in shape %d", low, high, x.Shape)
	}
	// Words are numbered in the order of the pool.
	number := make(map[string]int64)
	id := func(s string) int64 {
		n, ok := number[s]
		if !ok {
			n = int64(len(number))
			number[s] = n
		}
		return n
	}
	key := func(n int, at func(i int) int64) string {
		b := make([]byte, 0, 8*n)
		for i := range n {
			v := uint64(at(i))
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
		}
		return string(b)
	}
	gram := make(map[string]int) // which of the pool
	width, g := 0, 0
	for n := 1; n <= len(counts); n++ {
		end := size
		if n < len(counts) {
			end = counts[n]
		}
		if counts[n-1] < 0 || end > size || counts[n-1] > end {
			tensor.Malformed("ngram_counts %d of %d", counts, size)
		}
		for at := counts[n-1]; at+n <= end; at += n {
			if g >= len(indexes) || indexes[g] < 0 || indexes[g] >= tensor.MaxElems {
				tensor.Malformed("%d ngram_indexes", len(indexes))
			}
			width = max(width, indexes[g]+1)
			gram[key(n, func(i int) int64 {
				if words != nil && x.S != nil {
					return id(words.Strings[at+i])
				}
				return pool.Ints[at+i]
			})] = g
			g++
		}
	}
	rows, n := 1, x.Len()
	shape := []int{width}
	if len(x.Shape) == 2 {
		rows, n = x.Shape[0], x.Shape[1]
		shape = []int{rows, width}
	}
	out := c.Zeros(onnx.Float, shape...)
	items := x.I
	if x.S != nil {
		items = make([]int64, len(x.S))
		for i, s := range x.S {
			if v, ok := number[s]; ok {
				items[i] = v
			} else {
				items[i] = -1
			}
		}
	}
	mode, weights := c.Text("mode", "TF"), c.Attr("weights")
	for r := range rows {
		row := items[r*n : (r+1)*n]
		for size := low; size <= high && size <= n; size++ {
			for step := 1; step <= skips+1 && (size-1)*step < n; step++ {
				if size == 1 && step > 1 {
					break
				}
				c.Check()
				for from := 0; from+(size-1)*step < n; from++ {
					which, ok := gram[key(size, func(i int) int64 { return row[from+i*step] })]
					if !ok {
						continue
					}
					at, w := r*width+indexes[which], float32(1)
					if weights != nil && which < len(weights.Floats) {
						w = weights.Floats[which]
					}
					switch mode {
					case "TF":
						out.F[at]++
					case "IDF":
						out.F[at] = w
					case "TFIDF":
						out.F[at] += w
					default:
						tensor.Malformed("mode %.20q", mode)
					}
				}
			}
		}
	}
	return run.One(out)
}
