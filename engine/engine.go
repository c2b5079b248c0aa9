// Package engine is what callers say to an engine and hear from it: requests,
// events, descriptions of models, options and errors. Package local below it is
// the engine that does the work.
//
// Callers speak of texts, vectors and events; tokens, batches and devices stay
// inside. Every call that works for a request takes its context: when that ends
// the work stops before the next step and its memory is free again. Failures a
// client can be told about are *Error.
package engine
