// Package controllerruntime holds the tests with controller-runtime's own functions. It is a module of its own: nobody who
// builds the other end-to-end tests, or the library, has controller-runtime among what they depend on.
package controllerruntime
