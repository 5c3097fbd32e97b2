// Package fieldset knows which fields of an object a field selector can look at, and their values.
package fieldset
