package codec

import (
	"mime"
	"sort"
	"strconv"
	"strings"
)

// ForAccept returns the format for an Accept header: the first that is known among those with the highest quality. It returns nil if none is.
func (s *Set) ForAccept(header string) *Format {
	if strings.TrimSpace(header) == "" {
		return s.JSON()
	}
	for _, clause := range parseAccept(header) {
		if f := s.forMediaType(clause.mediaType); f != nil && clause.params["as"] == "" {
			return f
		}
	}
	return nil
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
