package chart_test

import (
	"fmt"

	"quern/bench/gateway/chart"
)

func ExampleRender() {
	o, err := chart.Render("../../../deploy/helm/quern", "one", "{replicas: 3, image: {repository: registry.example/quern}, auth: {secret: clients, keys: [{name: team}]}}")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Deployment.Kind, *o.Deployment.Spec.Replicas)
	// Output:
	// Deployment 3
}
