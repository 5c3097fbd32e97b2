package history

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// request is a list or a watch request, parsed and found valid.
type request struct {
	query
	version uint64 // 0: "" or "0", told apart by given
	given   bool   // a resourceVersion was asked for, be it "0"
	match   metav1.ResourceVersionMatch
	limit   int
	token   *token
	initial *bool // sendInitialEvents
	marks   bool  // allowWatchBookmarks
}

// parse validates the options with apimachinery's own rules and words.
func (c *Collection) parse(namespace string, opts metav1.ListOptions, watch bool) (*request, error) {
	opts.Watch = watch
	var in internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&opts, &in, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if errs := validation.ValidateListOptions(&in, true); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	r := &request{
		query:   query{namespace: namespace, labels: orEverything(in.LabelSelector, labels.Everything()), fields: orEverything(in.FieldSelector, fields.Everything())},
		given:   opts.ResourceVersion != "",
		match:   opts.ResourceVersionMatch,
		limit:   int(max(opts.Limit, 0)),
		initial: opts.SendInitialEvents,
		marks:   opts.AllowWatchBookmarks,
	}
	if err := c.checkFields(r.fields); err != nil {
		return nil, err
	}
	return r, r.parseVersions(opts)
}

func orEverything[S comparable](selector, everything S) S {
	var none S
	if selector == none {
		return everything
	}
	return selector
}

func (c *Collection) checkFields(selector fields.Selector) error {
	for _, requirement := range selector.Requirements() {
		if err := c.spec.CheckField(requirement.Field); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return nil
}

func (r *request) parseVersions(opts metav1.ListOptions) (err error) {
	if r.given {
		if r.version, err = ParseVersion(opts.ResourceVersion); err != nil {
			return err
		}
	}
	if opts.Continue == "" || opts.Watch {
		return nil
	}
	if r.version > 0 {
		return apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	r.token, err = decodeToken(opts.Continue)
	return err
}

// ParseVersion reads a resourceVersion.
func ParseVersion(version string) (uint64, error) {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", version, err))
	}
	return v, nil
}

// exact tells whether the list must be answered at the version itself and not at a newer one. A limit with a version and no match
// has meant exact since before there was a match.
func (r *request) exact() bool {
	return r.match == metav1.ResourceVersionMatchExact || (r.match == "" && r.version > 0 && r.limit > 0)
}
