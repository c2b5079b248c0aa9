package speakers

import "math"

// Assign pairs rows with columns one to one so that the sum of their weights is largest,
// and returns the column of each row: −1 where there are more rows than columns. No row
// of a smaller sum is left out for a larger mean: as many are paired as can be.
//
// Kuhn, "The Hungarian method for the assignment problem", 1955, with shortest
// augmenting paths.
func Assign(weight [][]float64) []int {
	rows := len(weight)
	if rows == 0 {
		return nil
	}
	columns := len(weight[0])
	out := make([]int, rows)
	n, m := rows, columns
	cost := func(i, j int) float64 { return -weight[i][j] }
	if rows > columns {
		n, m = columns, rows
		cost = func(i, j int) float64 { return -weight[j][i] }
	}
	u, v := make([]float64, n+1), make([]float64, m+1)
	row, way := make([]int, m+1), make([]int, m+1) // of each column, from 1; 0 is none
	for i := 1; i <= n; i++ {
		row[0] = i
		least, used := make([]float64, m+1), make([]bool, m+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		j := 0
		for row[j] != 0 {
			used[j] = true
			delta, next := math.Inf(1), 0
			for k := 1; k <= m; k++ {
				if used[k] {
					continue
				}
				if c := cost(row[j]-1, k-1) - u[row[j]] - v[k]; c < least[k] {
					least[k], way[k] = c, j
				}
				if least[k] < delta || next == 0 {
					delta, next = least[k], k
				}
			}
			for k := range used {
				if used[k] {
					u[row[k]] += delta
					v[k] -= delta
				} else {
					least[k] -= delta
				}
			}
			j = next
		}
		for j != 0 {
			row[j] = row[way[j]]
			j = way[j]
		}
	}
	for i := range out {
		out[i] = -1
	}
	for j := 1; j <= m; j++ {
		switch i := row[j]; {
		case i == 0:
		case rows > columns:
			out[j-1] = i - 1
		default:
			out[i-1] = j - 1
		}
	}
	return out
}
