// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// allStacks returns the stacks of all goroutines. The caller's is the first.
func allStacks() []string {
	buffer := make([]byte, 1<<14)
	n := runtime.Stack(buffer, true)
	for n == len(buffer) {
		buffer = make([]byte, 4*len(buffer))
		n = runtime.Stack(buffer, true)
	}
	return strings.Split(string(buffer[:n]), "\n\n")
}

// bubbleOf returns the bubble that the first line of a stack names. It is empty outside of bubbles.
func bubbleOf(stack string) string {
	header, _, _ := strings.Cut(stack, "\n")
	_, bubble, _ := strings.Cut(header, "synctest bubble")
	return bubble
}

// currentBubble returns the bubble of the caller.
func currentBubble() string { return bubbleOf(string(debug.Stack())) }

// bubbleStacks returns the stacks of the goroutines of the caller's bubble. The caller's is the
// first.
func bubbleStacks() []string {
	all := allStacks()
	bubble := bubbleOf(all[0])
	return slices.DeleteFunc(all, func(stack string) bool { return bubbleOf(stack) != bubble })
}

// programStacks returns the stacks of the goroutines of the caller's bubble, but for those of the
// simulation.
func programStacks() []string {
	return slices.DeleteFunc(bubbleStacks()[1:], func(stack string) bool { return strings.Contains(stack, "testing/synctest.") })
}

// maxStacks is the number of goroutines whose frames a report prints.
const maxStacks = 10

// programFrames returns, of stacks, the frames of the program. Goroutines without one are counted.
// If no goroutine has one, it is the first stack.
func programFrames(stacks []string) string {
	var shown []string
	for _, stack := range stacks {
		if strings.Contains(stack, "simulate.withRunner(") {
			continue // the test, which waits for the run
		}
		if frames := framesOfProgram(stack); frames != "" {
			shown = append(shown, frames)
		}
	}
	if len(shown) == 0 {
		shown = slices.Clone(stacks[:min(1, len(stacks))])
	}
	shown = shown[:min(maxStacks, len(shown))]
	if left := len(stacks) - len(shown); left > 0 {
		shown = append(shown, fmt.Sprintf("(%d more goroutines)", left))
	}
	return strings.Join(shown, "\n\n")
}

// framesOfProgram returns the first line of a stack and the frames of the program. It is empty if
// there are none.
func framesOfProgram(stack string) string {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	shown := lines[:1:1]
	for i := 1; i+1 < len(lines); i += 2 {
		if isOfProgram(lines[i], lines[i+1]) {
			shown = append(shown, lines[i], lines[i+1])
		}
	}
	if len(shown) == 1 {
		return ""
	}
	return strings.Join(shown, "\n")
}

// libraries matches the functions of Kubernetes' clients, of this module, and of what these use.
var libraries = regexp.MustCompile(`^(k8s\.io/(api|apiextensions-apiserver|apimachinery|apiserver|client-go|component-base|klog|kube-openapi|utils)|` +
	`sigs\.k8s\.io/(controller-runtime|json|structured-merge-diff)|github\.com/(go-logr|kinformer/kinformer|onsi)|golang\.org/x|go\.uber\.org/(goleak|zap))[/.]`)

const thisModule = "github.com/kinformer/kinformer"

// mainModule returns the path of the module that is tested, or nothing if it is not known.
var mainModule = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path
	}
	return ""
})

// isOfProgram reports whether a frame is of the program or its test: of the module that is tested,
// or of any other but the standard library and the libraries. In this module, tests are.
func isOfProgram(function, file string) bool {
	function = strings.TrimPrefix(strings.TrimSpace(function), "created by ")
	if strings.Contains(file, "_testmain.go") {
		return false
	}
	if module := mainModule(); module != "" && module != thisModule && isIn(function, module) {
		return true
	}
	domain, _, hasPath := strings.Cut(function, "/")
	isStandard := !hasPath && !strings.HasPrefix(function, "main.") || !strings.Contains(domain, ".")
	return strings.Contains(file, "_test.go:") || !isStandard && !libraries.MatchString(function)
}

// isIn reports whether a function is of a module.
func isIn(function, module string) bool {
	rest, ok := strings.CutPrefix(function, module)
	return ok && rest != "" && (rest[0] == '/' || rest[0] == '.')
}
