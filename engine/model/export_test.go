package model

// GGUFMeta is for tests of what ToGGUF writes.
var GGUFMeta = ggufMeta
