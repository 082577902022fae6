module nova-rt/kubernetes

go 1.26.0

require (
	golang.org/x/sys v0.50.0 // indirect
	k8s.io/apimachinery v0.37.2 // indirect
)
