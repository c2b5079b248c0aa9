// Package offheap takes memory outside the Go heap: caches, weights and planes of
// hundreds of megabytes, for which the collector would let the heap grow.
package offheap
