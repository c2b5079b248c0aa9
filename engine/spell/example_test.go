package spell_test

import (
	"fmt"

	"quern/engine/spell"
)

func Example() {
	fmt.Println(spell.Distance("temprature", "temperature"))
	fmt.Println(spell.Closest("listn", []string{"limits", "listen", "log"}))
	// Output:
	// 1
	// listen
}
