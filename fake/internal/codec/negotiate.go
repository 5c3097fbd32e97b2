package codec

import (
	"mime"
	"sort"
	"strconv"
	"strings"
)

// The forms that a client can ask an object or a list to be turned into, with the parameter "as" of a media type.
const (
	Table        = "Table"
	Metadata     = "PartialObjectMetadata"
	MetadataList = "PartialObjectMetadataList"
)

// Accepted is what a client takes: a format, and a form, which is empty for the object as it is.
type Accepted struct {
	*Format
	As string
}

// ForAccept returns what to answer to an Accept header: the first that is known among those with the highest quality. Objects that have only JSON take
// protobuf for their metadata. It returns false if nothing is known.
func (s *Set) ForAccept(header string, jsonOnly bool) (Accepted, bool) {
	if strings.TrimSpace(header) == "" {
		return Accepted{Format: s.JSON()}, true
	}
	for _, clause := range parseAccept(header) {
		f := s.forMediaType(clause.mediaType)
		as, ok := clause.as()
		switch {
		case f == nil || !ok:
		case as == Table && f != s.JSON(): // there is no protobuf of a Table
		case as == "" && jsonOnly && f != s.JSON():
		default:
			return Accepted{f, as}, true
		}
	}
	return Accepted{}, false
}

// as returns the form that a clause asks for, and false if that is unknown.
func (c clause) as() (string, bool) {
	if c.params["as"] == "" && c.params["g"] == "" && c.params["v"] == "" {
		return "", true
	}
	known := c.params["as"] == Table || c.params["as"] == Metadata || c.params["as"] == MetadataList
	return c.params["as"], known && c.params["g"] == "meta.k8s.io" && c.params["v"] == "v1"
}

// ForContentType returns the format of a request's body; none given means JSON. It returns nil if it is unknown.
func (s *Set) ForContentType(header string) *Format {
	if header == "" {
		return s.JSON()
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err != nil || strings.Contains(mediaType, "*") {
		return nil
	}
	return s.forMediaType(mediaType)
}

// clause is one of the things that an Accept header accepts.
type clause struct {
	mediaType string
	params    map[string]string
	quality   float64
}

// parseAccept returns the clauses of an Accept header, best first; what cannot be parsed is left out.
func parseAccept(header string) []clause {
	var clauses []clause
	for part := range strings.SplitSeq(header, ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		quality := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			quality = q
		}
		clauses = append(clauses, clause{mediaType, params, quality})
	}
	sort.SliceStable(clauses, func(i, j int) bool { return clauses[i].quality > clauses[j].quality })
	return clauses
}

func (s *Set) forMediaType(mediaType string) *Format {
	if mediaType == "*/*" || mediaType == "application/*" {
		return s.JSON()
	}
	for _, f := range s.formats {
		if f.ContentType == mediaType {
			return f
		}
	}
	return nil
}

// Supported names the content types, for the error that none of them is accepted.
func (s *Set) Supported() []string {
	var types []string
	for _, f := range s.formats {
		types = append(types, f.ContentType)
	}
	return types
}
