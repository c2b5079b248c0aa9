// Package offheap allocates memory outside the Go heap, for caches, weights and planes of
// hundreds of megabytes: the heap's garbage may grow in proportion to its live data.
package offheap
