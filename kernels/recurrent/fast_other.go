//go:build !amd64 || noasm

package recurrent

func decayFast(_, _ []float32, _, _ float32) int { return 0 }

func learnFast(_, _, _ []float32, _, _ float32) int { return 0 }

func tapFast(_, _, _ []float32) int { return 0 }

func stepFast(_, _, _ []float32, _, _ float32) (int, float32) { return 0, 0 }

func stepsFast(_, _, _, _, _ []float32, _, _, _ float32) int { return 0 }

func deltaFast(_, _, _, _, _ []float32, _, _ float32) int { return 0 }

func wkvFast(_, _, _, _, _, _, _, _ []float32) int { return 0 }

func cellFast(_, _, _, _, _, _ []float32) int { return 0 }
