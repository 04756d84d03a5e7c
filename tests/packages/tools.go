//go:build tools

// Package tools pins the program that the tests of Helm charts run.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
