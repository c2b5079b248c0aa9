// Package jinja renders the chat templates that model files carry.
//
// It is a small Jinja engine with Python's values behind it. Templates are
// written against Hugging Face's renderer, so that is what it imitates: an
// immutable sandbox, trim_blocks and lstrip_blocks on, break and continue,
// the generation tag, a plain tojson, raise_exception and strftime_now. There
// is no autoescaping, and nothing can be included, imported or extended.
//
// # Where it is not Jinja
//
// Objects print without their addresses. What is HTML's (urlize, xmlattr,
// autoescape), of chance (random, lipsum), for templates of several files
// (block, extends, include, import) or Python's alone (pprint, bytes, complex
// numbers, \N{…}, methods no template uses) is refused by name, or undefined.
// Integers have at most 14000 bits. "sameas" compares numbers by value. A
// comment that does not end is an error. TestDifferences is the whole table.
//
// # Where text came from
//
// A prompt mixes the template's own text, which may spell control tokens, with
// text a client sent, which must not. Once printed they look alike, so every
// Str remembers which of its bytes came from outside. Operations that copy
// bytes (concatenating, slicing, stripping, splitting, replacing, joining,
// padding, formatting) keep exact marks. Operations that rewrite bytes
// (changing case, escaping, encoding as JSON, repr) mark their whole result if
// any input was marked. So a byte that came from outside is never unmarked,
// and in ordinary templates the template's own text stays unmarked. Numbers
// and choices made by comparing marked strings carry no mark: what gets
// printed then is the template's own text.
//
// # Hostile templates
//
// A template comes from a downloaded file. Source size, nesting, evaluation
// depth, steps, bytes produced, integer size and range length all have limits;
// crossing one is an error that wraps ErrLimit.
package jinja
