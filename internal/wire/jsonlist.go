package wire

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/json"
)

// How deep values lie in a list.
const (
	depthMember = 1
	depthItem   = 2
)

// jsonList cuts a list in JSON. Its members may come in any order: of a custom
// resource kind and metadata come after the items.
type jsonList struct {
	listCutter
	jsonReader
	items bool   // the list's items have been there
	rest  []byte // the other members, should it turn out to be a Status
}

func (l *jsonList) run(header *ListHeader) error {
	l.jsonReader.window = &l.cutter.window
	defer func() { *header = l.header }()
	if err := l.openBody(); err != nil {
		return err
	}
	l.rest = append(l.rest, '{')
	if err := l.object(l.member); err != nil {
		return err
	}
	if err := l.endOfBody(); err != nil {
		return err
	}
	return l.finish()
}

// openBody goes to the '{' of the body.
func (l *jsonList) openBody() error {
	c, err := l.peek()
	if err == io.ErrUnexpectedEOF {
		return fmt.Errorf("an empty body: %w", err)
	}
	if err == nil && c != '{' {
		return fmt.Errorf("it begins with %s where an object was expected", l.preview())
	}
	return err
}

func (l *jsonList) endOfBody() error {
	end, err := l.atEnd()
	if err != nil || end {
		return err
	}
	return unexpected(l.ahead()[0], "the end")
}

// finish judges the list as a whole.
func (l *jsonList) finish() error {
	switch {
	case l.header.Kind == "Status":
		return statusError(append(l.rest, '}'), JSON)
	case !l.items:
		return fmt.Errorf("%w %q, it has no items", ErrWrongKind, l.header.Kind)
	}
	return l.listCutter.finish()
}

// member reads a member of the list.
func (l *jsonList) member(name string) error {
	if name == "items" && l.header.Kind != "Status" {
		return l.itemsMember()
	}
	value, err := l.value(depthMember, scopeOther)
	if err != nil {
		return inField(name, err)
	}
	switch name {
	case "kind":
		err = json.Unmarshal(value, &l.header.Kind)
	case "apiVersion":
		err = json.Unmarshal(value, &l.header.APIVersion)
	case "metadata":
		err = json.Unmarshal(value, &l.header.Meta)
	}
	if err != nil {
		return inField(name, err)
	}
	if l.header.Kind == "Table" {
		return fmt.Errorf("%w %q where a list was expected", ErrWrongKind, l.header.Kind)
	}
	return l.keep(name, value)
}

// keep keeps a member for a Status, until it is known that there is none.
func (l *jsonList) keep(name string, value []byte) error {
	if l.header.Kind != "" && l.header.Kind != "Status" {
		return nil
	}
	if len(l.rest)+len(value) > l.limit {
		return l.tooLarge(int64(len(l.rest) + len(value)))
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return err
	}
	if len(l.rest) > 1 {
		l.rest = append(l.rest, ',')
	}
	l.rest = append(append(l.rest, quoted...), ':')
	l.rest = append(l.rest, value...)
	return nil
}

// itemsMember reads the items.
func (l *jsonList) itemsMember() error {
	if l.items {
		return inField("items", errors.New("there twice"))
	}
	l.items = true
	c, err := l.peek()
	if err != nil {
		return inField("items", err)
	}
	if c == 'n' {
		_, err = l.value(depthMember, scopeOther)
		return inField("items", err)
	}
	if c != '[' {
		return inField("items", unexpected(c, "an array"))
	}
	if err := l.array(l.oneItem); err != nil {
		return err
	}
	l.item = -1
	return nil
}

func (l *jsonList) oneItem() error {
	l.item++
	if c, err := l.peek(); err != nil || c != '{' {
		return notObject(c, err)
	}
	offset := l.offset()
	raw, err := l.value(depthItem, scopeObject)
	l.current.Offset = offset
	if errors.Is(err, ErrTooLarge) && l.options.SkipOversized {
		return l.passOver(err)
	}
	if err != nil {
		return err
	}
	l.setObject(&l.current, raw, raw)
	return l.deliver()
}

// notObject is the error of a value beginning with c in the place of an object.
func notObject(c byte, err error) error {
	if err != nil {
		return err
	}
	return unexpected(c, "an object")
}
