//go:build !linux

package main

func forget(string) (bool, error) { return false, nil }
