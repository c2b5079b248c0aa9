package page_test

import (
	"fmt"
	"net/http/httptest"

	"quern/httpapi/page"
)

func Example() {
	p, err := page.New()
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"), p.Has("/assets"))
	// Output:
	// 200 text/html; charset=utf-8 false
}
